import { createServer } from 'node:net';

const given: Set<number> = new Set();

/**
 * A port of 127.0.0.1 that nobody listens on. It lies below the range that the kernel gives to
 * outgoing connections, so that no client can take the port of a server while that restarts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 17_000);
    if (!given.has(port) && (await isFree(port))) {
      given.add(port);
      return port;
    }
  }
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

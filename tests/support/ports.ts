import { createServer } from 'node:net';

const given: Set<number> = new Set();

const FIRST = 15_000;
/** Files that run at once each have a part of the range: else one could take the port of a server that restarts. */
const EACH = 17_000 / 8;
const part = Number(process.env.VITEST_POOL_ID ?? 0) % 8;

/**
 * A port of 127.0.0.1 that nobody listens on. It lies below the range that the kernel gives to
 * outgoing connections, so that no client can take the port of a server while that restarts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor((part + Math.random()) * EACH);
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

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket, type Server as TcpServer } from 'node:net';
import { createLimiter, slidingWindow } from 'comporta';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { clientNames, open } from './matrix/clients.js';

/** Swallows what goes over the connections it has, which stay open, while new ones work. */
class Box {
  readonly #server: TcpServer;
  readonly #sockets: Set<Socket> = new Set();
  readonly #swallowing: Set<Socket> = new Set();
  connections = 0;

  constructor(target: number) {
    this.#server = createServer((client) => {
      this.connections++;
      const server = connect(target, '127.0.0.1');
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on('error', () => socket.destroy());
      }
      client.on('data', (bytes) => this.#swallowing.has(client) || server.write(bytes));
      server.on('data', (bytes) => this.#swallowing.has(client) || client.write(bytes));
      client.on('close', () => server.destroy());
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  swallow(): void {
    for (const socket of this.#sockets) this.#swallowing.add(socket);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

test.each(clientNames)('%s: a connection that swallows everything is replaced within seconds', async (client) => {
  const box = new Box(server.port);
  const { store, end } = await open(client, { topology: 'single', ports: [await box.listen()], natMap: {} });
  const limiter = createLimiter({ policy: 'p', limits: slidingWindow({ limit: 1000, window: '1m' }), store });
  try {
    await store.ready();
    const before = box.connections;
    box.swallow();
    const isBack = async () => (await limiter.consume('s')).degraded === undefined;
    expect(await isBack()).toBe(false);
    await until(isBack, { timeoutMs: 5000, everyMs: 5, what: 'an answer over a new connection' });
    expect(box.connections).toBeGreaterThan(before);
  } finally {
    await limiter.close();
    await store.close();
    await end();
    box.close();
  }
});

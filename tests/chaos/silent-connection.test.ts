import { createLimiter, slidingWindow } from 'comporta';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBox } from '../support/box.js';
import { type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { clientNames, open } from './matrix/clients.js';

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

test.each(clientNames)('%s: a connection that swallows everything is replaced within seconds', async (client) => {
  const box = await startBox(server.port);
  const { store, end } = await open(client, { topology: 'single', ports: [box.port], natMap: {} });
  const limiter = createLimiter({ policy: 'p', limits: slidingWindow({ limit: 1000, window: '1m' }), store });
  try {
    await store.ready();
    const before = box.taken;
    box.swallow();
    const isBack = async () => (await limiter.consume('s')).degraded === undefined;
    expect(await isBack()).toBe(false);
    await until(isBack, { timeoutMs: 5000, everyMs: 5, what: 'an answer over a new connection' });
    expect(box.taken).toBeGreaterThan(before);
  } finally {
    await limiter.close();
    await store.close();
    await end();
    box.close();
  }
});

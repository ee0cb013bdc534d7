import { createLimiter, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import { type Server, startServer } from '../support/servers.js';
import { clients, type Opened } from './clients.js';

// What comes before the first connection waits for it: a process does not begin with a limit of its own.
let server: Server;
let cluster: Cluster;
beforeAll(async () => {
  [server, cluster] = await Promise.all([startServer(), startCluster()]);
});
afterAll(async () => {
  await Promise.all([server?.stop(), cluster?.stop()]);
});

/** Asks at once, without any care for the connection. */
async function admittedAtOnce(opening: Opened | Promise<Opened>): Promise<{ admitted: number; degraded: number }> {
  const { store, close } = await opening;
  const limits = slidingWindow({ limit: 20, window: '1h' });
  // Longer than any connection takes on a busy machine: the default is for people, this is about the order.
  const limiter = createLimiter({ policy: 'first', limits, store, timeoutMs: 5000 });
  const subject = `first ${Math.random()}`;
  const first = await Promise.all(Array.from({ length: 30 }, () => limiter.consume(subject)));
  await store.ready(5000);
  const later = await Promise.all(Array.from({ length: 30 }, () => limiter.consume(subject)));
  await limiter.close();
  await close();
  const all = [...first, ...later];
  return {
    admitted: all.filter(({ allowed }) => allowed).length,
    degraded: all.filter((decision) => decision.degraded !== undefined).length,
  };
}

describe.each(clients)('$name', ({ single, cluster: many }) => {
  test('admits the limit once, on one server', async () => {
    expect(await admittedAtOnce(single(server.port))).toEqual({ admitted: 20, degraded: 0 });
  });

  test('admits the limit once, on a cluster', async () => {
    const ports = cluster.primaries.map(({ port }) => port);
    expect(await admittedAtOnce(many(ports))).toEqual({ admitted: 20, degraded: 0 });
  });
});

test('a server that is not there costs no waiting beyond the first connection', async () => {
  const store = redisStore('redis://127.0.0.1:1', { onWarning: () => undefined });
  const limits = slidingWindow({ limit: 20, window: '1h' });
  const limiter = createLimiter({ policy: 'first', limits, store });
  const startMs = performance.now();
  for (let i = 0; i < 50; i++) expect((await limiter.consume('a')).degraded?.mode).toBe('local');
  expect(performance.now() - startMs).toBeLessThan(500);
  await limiter.close();
  await store.close();
});

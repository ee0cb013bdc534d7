import { createLimiter, type Decision, fixedWindow, slidingWindow, tokenBucket } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { callsOf } from './stats.js';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

async function connected(batch: boolean) {
  const store = redisStore(`redis://127.0.0.1:${server.port}`, { batch });
  await store.ready(5000);
  return store;
}

test('decisions for one subject are told the same together and one by one', async () => {
  const limits = [tokenBucket({ capacity: 60, refill: 1, every: '1h' }), slidingWindow({ limit: 90, window: '1h' })];
  const askAll = async (batch: boolean) => {
    const store = await connected(batch);
    const limiter = createLimiter({ policy: `alike-${batch}`, limits, store, timeoutMs: 2000 });
    // A server that has to learn a script first answers out of turn.
    await Promise.all(range(12).map(() => limiter.consume('warm')));
    const decisions: Decision[] = [];
    for (const [times, cost] of [
      [24, 1],
      [10, 2],
      [20, 3],
    ] as const) {
      decisions.push(...(await Promise.all(range(times).map(() => limiter.consume('one', { cost })))));
    }
    await store.close();
    return decisions.map(({ allowed, degraded, limits: each }) => [
      allowed,
      degraded,
      ...each.map(({ remaining }) => remaining),
    ]);
  };
  const before = await callsOf([server], 'evalsha');
  const together = await askAll(true);
  const between = await callsOf([server], 'evalsha');
  expect(together).toEqual(await askAll(false));
  expect(between - before).toBeLessThanOrEqual(30);
  expect(together.filter(([allowed]) => allowed)).toHaveLength(24 + 10 + 5);
});

test('an error of one subject that is asked for alone is told to all who ask', async () => {
  const store = await connected(true);
  const limits = [fixedWindow({ limit: 9, window: '1h' }), slidingWindow({ limit: 9, window: '1h' })];
  const limiter = createLimiter({ policy: 'wrong', limits, store, timeoutMs: 2000, onStoreFailure: 'closed' });
  await limiter.consume('first');
  const keys = (await server.command('KEYS', 'cmp1:{first}:wrong:*:sw')) as string[];
  await server.command('SADD', (keys[0] ?? '').replace('first', 'odd'), 'x');
  const subjects = [...range(4).map(String), ...range(8).map(() => 'odd')];
  const decisions = await Promise.all(subjects.map((subject) => limiter.consume(subject)));
  const told = decisions.map(({ allowed, degraded }) => [allowed, degraded?.detail?.slice(0, 9)]);
  expect(told.slice(4)).toEqual(range(8).map(() => [false, 'WRONGTYPE']));
  expect(await server.command('KEYS', 'cmp1:{odd}:wrong:*')).toHaveLength(1);
  await store.close();
});

import { createLimiter, type Limiter, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
afterEach(() => server.command('FLUSHALL'));

const keyOf = (policy: string): string => `cmp1:{%presence}:${policy}`;

/** Another process that uses a policy, as the server knows it. */
const joins = (policy: string): Promise<unknown> => server.command('ZADD', keyOf(policy), Date.now(), '!another');

function open(policies: readonly string[]) {
  const warnings: string[] = [];
  const store = redisStore(server.url, { onWarning: (text) => warnings.push(text) });
  const limits = slidingWindow({ limit: 10, window: '1m' });
  const limiters = policies.map((policy) => createLimiter({ policy, limits, store, timeoutMs: 1000 }));
  const partOf = (policy: string): number => {
    const plan = { policy, limits: (limiters[0] as Limiter).limits };
    return store.bind(plan).part?.().processes ?? 0;
  };
  const close = async (): Promise<void> => {
    await Promise.all(limiters.map((limiter) => limiter.close()));
    await store.close();
  };
  const use = async (): Promise<void> => {
    for (const limiter of limiters) await limiter.consume('s');
  };
  return { warnings, use, partOf, close };
}

test('a process counts for the policies that it uses and for no other', async () => {
  await joins('shared');
  const { use, partOf, close } = open(['shared', 'own']);
  await until(async () => use().then(() => partOf('shared') === 2), { what: 'a count of both' });
  await until(async () => use().then(() => server.command('EXISTS', keyOf('own'))), { what: 'a word of the other' });
  expect(partOf('own')).toBe(1);
  await close();
});

test('a count that cannot be made is told of once and changes no decision', async () => {
  await server.command('SET', keyOf('p'), 'text');
  const { warnings, use, close } = open(['p']);
  await until(async () => use().then(() => warnings.length > 0), { what: 'a warning' });
  await use();
  expect(warnings).toEqual([expect.stringMatching(/^processes cannot be counted.*WRONGTYPE/)]);
  await close();
});

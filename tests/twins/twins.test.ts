import { type Limit, slidingWindow } from 'comporta';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compose } from '../../packages/comporta/src/algorithms/compose.js';
import {
  ACTIONS,
  anyLimit,
  history,
  kinds,
  limitOf,
  longHistory,
  type Step,
  withOtherStorage,
} from '../support/arbitraries.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { difference } from '../support/twin-bench.js';

/** Histories per algorithm and server; a longer hunt is one variable away. */
const HISTORIES = Number(process.env.TWIN_HISTORIES ?? 10_000);

describe.each(installedKinds())('%s', (server) => {
  let running: Server;
  let redis: Redis;

  beforeAll(async () => {
    running = await startServer({ kind: server });
    redis = new Redis({ port: running.port, host: running.host });
  });
  afterAll(async () => {
    redis.disconnect();
    await running.stop();
  });

  const agree = async (limits: readonly Limit[], steps: readonly Step[]): Promise<void> => {
    expect(await difference(redis, limits, steps)).toBeUndefined();
  };

  test.each(kinds)('%s decides and stores alike in memory and in Lua, the clock stepping either way', async (kind) => {
    const scenario = limitOf(kind).chain((limit) => fc.tuple(fc.constant([limit]), history(limit.limit, true)));
    await fc.assert(
      fc.asyncProperty(scenario, ([limits, steps]) => agree(limits, steps)),
      { numRuns: HISTORIES },
    );
  });

  test.each(kinds)('%s charges, rewards, takes, reserves and settles alike in memory and in Lua', async (kind) => {
    const scenario = limitOf(kind).chain((limit) =>
      fc.tuple(fc.constant([limit]), history(limit.limit, true, 16, ACTIONS)),
    );
    await fc.assert(
      fc.asyncProperty(scenario, ([limits, steps]) => agree(limits, steps)),
      { numRuns: HISTORIES / 2 },
    );
  });

  test('processes that would store a log differently decide alike on one, and leave it as it is', async () => {
    const scenario = limitOf('slidingWindow').chain((limit) =>
      fc.tuple(fc.constant(limit), fc.oneof(history(limit.limit, true), history(limit.limit, true, 16, ACTIONS))),
    );
    await fc.assert(
      fc.asyncProperty(scenario, async ([limit, steps]) => {
        expect(await difference(redis, [limit], steps, undefined, [withOtherStorage(limit)])).toBeUndefined();
      }),
      { numRuns: HISTORIES / 4 },
    );
  });

  test('a log goes on as it was begun, and the next begins as is asked', async () => {
    const list = slidingWindow({ limit: 9, window: '1m' });
    const other = withOtherStorage(list);
    const key = `{begun-${process.pid}}`;
    const typesAfter = async (limit: Limit, ...timesUs: number[]): Promise<string[]> => {
      const types: string[] = [];
      for (const us of timesUs) {
        await redis.eval(compose('consume', [limit]).text, 1, key, us, 1, ...limit.args);
        types.push(await redis.type(key));
      }
      return types;
    };
    const day = 86_400_000_000;
    expect(await typesAfter(list, day, day + 1)).toEqual(['list', 'list']);
    expect(await typesAfter(other, day + 2, 2 * day)).toEqual(['list', 'list']);
    await redis.del(key);
    expect(await typesAfter(other, 3 * day)).toEqual(['zset']);
    expect(await typesAfter(list, 3 * day + 1)).toEqual(['zset']);
  });

  test.each(['compact', 'sortedSet'] as const)('a long log (%s) gives back from anywhere', async (storage) => {
    await agree([slidingWindow({ limit: 5000, window: '10s', storage })], longHistory());
  });

  test('several limits of one subject are decided alike, all or none', async () => {
    const scenario = fc.array(anyLimit, { minLength: 2, maxLength: 4 }).chain((limits) => {
      const least = Math.min(...limits.map(({ limit }) => limit));
      const steps = fc.oneof(history(least, true), history(least, true, 16, ACTIONS));
      return fc.tuple(fc.constant(limits), steps);
    });
    await fc.assert(
      fc.asyncProperty(scenario, ([limits, steps]) => agree(limits, steps)),
      { numRuns: HISTORIES / 4 },
    );
  });
});

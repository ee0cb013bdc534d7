import type { Limit } from 'comporta';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACTIONS, anyLimit, history, kinds, limitOf, type Step } from '../support/arbitraries.js';
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

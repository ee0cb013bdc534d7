import { fixedWindow, type Limit, quota, slidingWindow, slidingWindowCounter, tokenBucket } from 'comporta';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { argumentsAt } from '../../packages/comporta/src/algorithms/algorithm.js';
import { compose } from '../../packages/comporta/src/algorithms/compose.js';
import { partsOfAll } from '../../packages/comporta/src/stores/batch-parts.js';
import { decodeMany } from '../../packages/comporta/src/stores/redis-replies.js';
import { costKinds } from '../support/arbitraries.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';

const all: readonly Limit[] = [
  fixedWindow({ limit: 30, window: '1h' }),
  quota({ limit: 30, per: 'day' }),
  slidingWindow({ limit: 30, window: '1h' }),
  slidingWindowCounter({ limit: 30, window: '1h' }),
  tokenBucket({ capacity: 30, refill: 1, every: '1h' }),
];
const NOW_US = 9_000_000;

test('every algorithm that counts costs is there', () => {
  expect(all.map(({ algorithm }) => algorithm.name)).toEqual(costKinds.toSorted());
});

describe.each(installedKinds())('%s', (kind) => {
  let server: Server;
  let redis: Redis;
  beforeAll(async () => {
    server = await startServer({ kind });
    redis = new Redis({ port: server.port, host: server.host });
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  /** How many numbers answer a call, and what is left after each of its decisions by the first limit. */
  async function ask(limits: readonly Limit[], costs: readonly number[]): Promise<[width: number, left: unknown[]]> {
    const asked = costs.map((cost) => ({ escaped: '', cost: String(cost), tail: [] }));
    const name = limits.map(({ algorithm }) => algorithm.tag).join();
    const { keys, head, tail } = partsOfAll(asked, () => limits.map((_, i) => `${name}-${i}`));
    const args = limits.flatMap((limit) => argumentsAt(limit, NOW_US / 1000).map(String));
    const sent = [String(NOW_US), ...head.slice(1), ...args, ...tail];
    const reply = (await redis.eval(compose('consumeMany', limits).text, keys.length, ...keys, ...sent)) as number[];
    const { entries } = decodeMany(reply, limits, asked);
    return [reply.length, entries.map((entry) => 'numbers' in entry && entry.numbers[0])];
  }

  const lists = [...all.map((limit) => [limit]), all].map((limits) => ({
    limits,
    about: limits.map(({ algorithm }) => algorithm.name).join(', '),
  }));
  test.each(lists)('$about: decisions that are alike and all fit are told by what they come to', async ({ limits }) => {
    const words = limits.flatMap(({ algorithm }) => algorithm.sum?.words ?? []).length;
    const width = 4 * limits.length;
    expect(await ask(limits, [2, 2, 2])).toEqual([1 + words, [28, 26, 24]]);
    expect(await ask(limits, [1, 1, 1, 1, 1, 1])).toEqual([1 + words, [23, 22, 21, 20, 19, 18]]);
    expect(await ask(limits, [1, 2, 1])).toEqual([1 + 3 * width, [17, 15, 14]]);
    expect(await ask(limits, [4, 4, 4, 4, 4])).toEqual([1 + 5 * width, [10, 6, 2, 2, 2]]);
    expect(await ask(limits, [1, 1])).toEqual([1 + words, [1, 0]]);
  });
});

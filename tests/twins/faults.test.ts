import type { Limit } from 'comporta';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compose } from '../../packages/comporta/src/algorithms/compose.js';
import { sha1Hex } from '../../packages/comporta/src/core/hash.js';
import { history, limitOf } from '../support/arbitraries.js';
import { type Server, startServer } from '../support/servers.js';
import { difference, type Mutate } from '../support/twin-bench.js';
import { vectors } from '../support/vectors.js';

/** One-line faults of kinds that others have shipped. Each must be noticed, or the twins prove nothing. */
const FAULTS: readonly (readonly [kind: string, about: string, find: string, replace: string])[] = [
  ['tokenBucket', 'a full burst counts as too large', 'needed > full', 'needed >= full'],
  [
    'tokenBucket',
    'no cap: a long pause overfills',
    'if elapsed >= used / rate then used = 0 else',
    'if false then used = 0 else',
  ],
  ['tokenBucket', 'waits rounded down', 'math.ceil(drops / rate)', 'math.floor(drops / rate)'],
  ['tokenBucket', 'a clock step back refills', 'if not stepped then', 'if true then'],
  ['tokenBucket', 'a refused call pays', 'if not admitted then cost = 0 end', ''],
  ['tokenBucket', 'cost counted as one', 'used + cost * token', 'used + token'],
  [
    'tokenBucket',
    'stored fields swapped',
    "struct.pack('ddd', used, at, token)",
    "struct.pack('ddd', at, used, token)",
  ],
  ['tokenBucket', 'wrong argument', 'tonumber(ARGV[4])', 'tonumber(ARGV[5])'],
  ['tokenBucket', 'no expiry', ", 'PX', tokenBucket_toMs(used, rate, tick) + TTL_MARGIN_MS", ''],
  [
    'tokenBucket',
    'expiry in the wrong unit',
    'tokenBucket_toMs(used, rate, tick) + TTL_MARGIN_MS',
    '(tokenBucket_toMs(used, rate, tick) + TTL_MARGIN_MS) * 1000',
  ],
  ['slidingWindow', 'window edge off by one', 'clock - window + 1', 'clock - window'],
  ['slidingWindow', 'members of one instant collide', 'toMember(total + cost, cost)', 'toMember(1, cost)'],
  ['slidingWindow', 'index off by one', "redis.call('ZCARD', key) - 1", "redis.call('ZCARD', key) - 2"],
  [
    'slidingWindow',
    'time written through text',
    "redis.call('ZADD', key, now,",
    "redis.call('ZADD', key, tostring(now),",
  ],
  ['slidingWindow', 'a clock step back frees the window', 'if lastAt > now then clock = lastAt end', ''],
  ['slidingWindow', 'unequal widths lose the order', "'%015.0f'", "'%.0f'"],
  ['fixedWindow', 'window edge off by one', 'now - storedStart < window', 'now - storedStart <= window'],
  ['fixedWindow', 'cost compared with what was used', 'cost > math.max(0, limit - count)', 'cost > math.max(0, count)'],
  ['quota', 'the first moment of a period left out', 'storedStart >= start', 'storedStart > start'],
  [
    'quota',
    'use of the period before still counts',
    'if storedStart >= start then count = storedCount end',
    'count = storedCount',
  ],
  ['quota', 'a pro-rated period has all of the limit', 'if stop == partStop then room = part end', ''],
  ['quota', 'lives for longer than its period', "'PX', stop - now +", "'PX', 2 * (stop - now) +"],
  ['slidingWindowCounter', 'older window not weighted', 'previous * (window - offset)', 'previous * window'],
  ['slidingWindowCounter', 'older window forgotten early', "'PX', start + 2 * window", "'PX', start + window"],
];

let server: Server;
let redis: Redis;
beforeAll(async () => {
  server = await startServer();
  redis = new Redis({ port: server.port, host: server.host });
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const planted =
  (find: string, replace: string): Mutate =>
  (script) => {
    const text = script.text.split(find).join(replace);
    return { text, sha: sha1Hex(text) };
  };

/** True when the examples or up to 2000 random histories show a difference. */
async function isNoticed(kind: string, mutate: Mutate): Promise<boolean> {
  for (const { limit, rows } of vectors.filter((vector) => vector.kind === kind)) {
    const steps = rows.map(
      ([dtMs, cost]) => ({ operation: 'consume', windows: 0, extraUs: dtMs * 1000, cost, back: 0 }) as const,
    );
    if ((await difference(redis, [limit], steps, mutate)) !== undefined) return true;
  }
  const scenario = limitOf(kind).chain((limit) => fc.tuple(fc.constant(limit), history(limit.limit, true, 25)));
  const property = fc.asyncProperty(
    scenario,
    async ([limit, steps]) => (await difference(redis, [limit], steps, mutate)) === undefined,
  );
  const result = await fc.check(property, { numRuns: 2000, endOnFailure: true });
  return result.failed;
}

test.each(FAULTS)('%s: %s is noticed', async (kind, _about, find, replace) => {
  const limit = vectors.find((vector) => vector.kind === kind)?.limit as Limit;
  expect(compose('consume', [limit]).text).toContain(find);
  expect(await isNoticed(kind, planted(find, replace))).toBe(true);
});

test('without a fault nothing is noticed', async () => {
  expect(await isNoticed('tokenBucket', (script) => script)).toBe(false);
});

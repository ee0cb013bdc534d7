import { type Limit, slidingWindow } from 'comporta';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compose } from '../../packages/comporta/src/algorithms/compose.js';
import { sha1Hex } from '../../packages/comporta/src/core/hash.js';
import { ACTIONS, history, limitOf, longHistory, type Step, withOtherStorage } from '../support/arbitraries.js';
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
  ['tokenBucket', 'waits rounded down', '(ticks + -ticks % 1)', '(ticks - ticks % 1)'],
  ['tokenBucket', 'a clock step back refills', 'if not stepped then', 'if true then'],
  ['tokenBucket', 'a refused call pays', 'if not admitted then cost = 0 end', ''],
  ['tokenBucket', 'cost counted as one', 'used + cost * token', 'used + token'],
  [
    'tokenBucket',
    'stored fields swapped',
    "struct.pack('ddd', used, at, token)",
    "struct.pack('ddd', at, used, token)",
  ],
  ['tokenBucket', 'wrong argument', 'ARGV[4] + 0', 'ARGV[5] + 0'],
  ['tokenBucket', 'no expiry', ", 'PX', tokenBucket_toMs(used, rate, tick) + TTL_MARGIN_MS", ''],
  [
    'tokenBucket',
    'expiry in the wrong unit',
    'tokenBucket_toMs(used, rate, tick) + TTL_MARGIN_MS',
    '(tokenBucket_toMs(used, rate, tick) + TTL_MARGIN_MS) * 1000',
  ],
  ['slidingWindow', 'window edge off by one', 'clock - window + 1', 'clock - window'],
  ['slidingWindow', 'members of one instant collide', 'toMember(total + cost, cost)', 'toMember(1, cost)'],
  ['slidingWindow', 'index off by one', '_count(key, isSet) - 1', '_count(key, isSet) - 2'],
  [
    'slidingWindow',
    'time written through text',
    "redis.call('ZADD', key, now,",
    "redis.call('ZADD', key, tostring(now),",
  ],
  ['slidingWindow', 'a clock step back frees the window', 'if lastAt > now then clock = lastAt end', ''],
  ['slidingWindow', 'unequal widths lose the order', "'%015.0f'", "'%.0f'"],
  ['slidingWindow', 'window edge of a list off by one', 'if at > bound then', 'if at >= bound then'],
  ['slidingWindow', 'window edge off by one in a search', 'middle)) > bound then', 'middle)) >= bound then'],
  ['slidingWindow', 'rank in a list off by one', 'return i - 1, at', 'return i, at'],
  ['slidingWindow', 'cost of an element forgotten', "'<dI4I4', at, total, cost)", "'<dI4I4', at, total, 1)"],
  ['slidingWindow', 'times with too few digits', "'<dI4", "'<fI4"],
  ['slidingWindow', 'what left stays', "redis.call('LTRIM', key, left, -1)", ''],
  ['slidingWindow', 'one too many leaves', "'LTRIM', key, left, -1", "'LTRIM', key, left + 1, -1"],
  ['slidingWindow', 'all that left stays', "elseif left < 0 then\nredis.call('DEL', key)", ''],
  ['slidingWindow', 'what is put in front is turned around', 'isStart and #entries + 1 - i or i', 'i'],
  ['slidingWindow', 'an entry that was given back stays', 'if cost > 0 then\nif isSet', 'if true then\nif isSet'],
  ['slidingWindow', 'the layout is the one asked for', 'isSet = not isSet', ''],
  ['slidingWindow', 'totals on the wrong side', 'if not isStart then', 'if isStart then'],
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

const isLog = (kind: string): boolean => kind === 'slidingWindow';

/** Every example, that of a log in both layouts, and a long log. */
function examples(kind: string): (readonly [Limit, readonly Step[]])[] {
  const own = vectors.filter((vector) => vector.kind === kind);
  const found = own.flatMap(({ limit, rows }) => {
    const steps = rows.map(
      ([dtMs, cost]) => ({ operation: 'consume', windows: 0, extraUs: dtMs * 1000, cost, back: 0 }) as const,
    );
    return [limit, ...(isLog(kind) ? [withOtherStorage(limit)] : [])].map((each) => [each, steps] as const);
  });
  return isLog(kind) ? [...found, [slidingWindow({ limit: 5000, window: '10s' }), longHistory()]] : found;
}

/** True when the examples or up to 2000 random histories show a difference. */
async function isNoticed(kind: string, mutate: Mutate): Promise<boolean> {
  for (const [limit, steps] of examples(kind)) {
    if ((await difference(redis, [limit], steps, mutate)) !== undefined) return true;
  }
  const scenario = limitOf(kind).chain((limit) => {
    const steps = fc.oneof(history(limit.limit, true, 25), history(limit.limit, true, 25, ACTIONS));
    return fc.tuple(fc.constant(limit), steps, fc.boolean());
  });
  const property = fc.asyncProperty(scenario, async ([limit, steps, isMixed]) => {
    const others = isMixed && isLog(kind) ? [withOtherStorage(limit)] : undefined;
    return (await difference(redis, [limit], steps, mutate, others)) === undefined;
  });
  const result = await fc.check(property, { numRuns: 2000, endOnFailure: true });
  return result.failed;
}

test.each(FAULTS)('%s: %s is noticed', async (kind, _about, find, replace) => {
  const limit = vectors.find((vector) => vector.kind === kind)?.limit as Limit;
  expect(compose('consume', [limit]).text + compose('refund', [limit]).text).toContain(find);
  expect(await isNoticed(kind, planted(find, replace))).toBe(true);
});

test('without a fault nothing is noticed', async () => {
  for (const kind of ['tokenBucket', 'slidingWindow']) expect(await isNoticed(kind, (script) => script)).toBe(false);
});

import { fixedWindow, type Limit, slidingWindow, slidingWindowCounter, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { DURATION_MAX_MS } from '../../../packages/comporta/src/algorithms/ranges.js';
import { isAllowed, MemoryBench, numbersOf } from '../../support/memory-bench.js';
import { refusalOf } from '../../support/refusal.js';

const BILLION = 1_000_000_000;

describe('a bucket that would take more than ten years to fill is refused', () => {
  test('just inside is accepted, one token more is not', () => {
    const capacity = DURATION_MAX_MS / 1000;
    expect(tokenBucket({ capacity, refill: 1, every: '1s' }).windowMs).toBe(DURATION_MAX_MS);
    const build = () => tokenBucket({ capacity: capacity + 1, refill: 1, every: '1s' });
    const { code, field, text } = refusalOf(build);
    expect({ code, field }).toEqual({ code: 'ERR_LIMIT', field: 'capacity' });
    expect(text).toContain('10 years');
  });

  test.each([
    { capacity: 2, refill: 1, every: DURATION_MAX_MS },
    { capacity: BILLION, refill: 1, every: '1s' },
    { capacity: BILLION, refill: 999_999_937, every: DURATION_MAX_MS },
  ])('%j', (settings) => {
    expect(refusalOf(() => tokenBucket(settings)).code).toBe('ERR_LIMIT');
  });
});

test('a bucket whose drops would pass exact whole numbers is refused', () => {
  // A prime refill does not reduce: 5e8 tokens of 1e7 drops each are more than 2^52.
  const build = () => tokenBucket({ capacity: 500_000_000, refill: 999_999_937, every: 10_000_001 });
  expect(refusalOf(build)).toMatchObject({ code: 'ERR_LIMIT', field: 'capacity' });
});

test('a counter whose limit times window would pass exact whole numbers is refused', () => {
  const window = 2_251_799; // 2^51 / 1e9, rounded down
  expect(slidingWindowCounter({ limit: BILLION, window }).limit).toBe(BILLION);
  const { code, field, text } = refusalOf(() => slidingWindowCounter({ limit: BILLION, window: window + 1 }));
  expect({ code, field }).toEqual({ code: 'ERR_LIMIT', field: 'limit' });
  expect(text).toContain('limit * window');
});

describe('a cost of any size is compared with the limit before anything is computed with it', () => {
  const limits: [string, Limit][] = [
    ['tokenBucket', tokenBucket({ capacity: 1, refill: 1, every: '1d' })],
    ['tokenBucket at its largest', tokenBucket({ capacity: BILLION, refill: BILLION, every: '1d' })],
    ['slidingWindow', slidingWindow({ limit: 1_000_000, window: DURATION_MAX_MS })],
    ['slidingWindowCounter', slidingWindowCounter({ limit: 1, window: DURATION_MAX_MS })],
    ['fixedWindow', fixedWindow({ limit: BILLION, window: DURATION_MAX_MS })],
  ];

  test.each(limits)('%s', (_, limit) => {
    for (const cost of [limit.limit + 1, 200_000_000_000, 2 ** 52, Number.MAX_SAFE_INTEGER]) {
      const bench = new MemoryBench([limit]);
      const before = numbersOf(bench.policy.peek('s', 0));
      expect(numbersOf(bench.policy.consume('s', cost))).toEqual({ ...before, retryAfterMs: -1 });
      expect(bench.state('s')).toBeUndefined();
      expect(isAllowed(bench.policy.consume('s', limit.limit))).toBe(true);
      expect(numbersOf(bench.policy.consume('s', cost)).retryAfterMs).toBe(-1);
    }
  });
});

describe('ids', () => {
  const limit = (id?: string) => slidingWindow({ limit: 1, window: '1s', ...(id === undefined ? {} : { id }) });
  const idsOf = (limits: readonly Limit[]) => withIds(limits).map(({ id }) => id);

  test('limits without one get their kind, numbered from the second on', () => {
    const bucket = tokenBucket({ capacity: 1, refill: 1, every: '1s' });
    expect(idsOf([limit(), bucket, limit(), limit()])).toEqual([
      'slidingWindow',
      'tokenBucket',
      'slidingWindow-2',
      'slidingWindow-3',
    ]);
  });

  test('a number that somebody chose is passed over', () => {
    expect(idsOf([limit('slidingWindow-2'), limit(), limit()])).toEqual([
      'slidingWindow-2',
      'slidingWindow',
      'slidingWindow-3',
    ]);
  });

  test('one id for two limits is refused, naming the place of the second', () => {
    const { code, field, text } = refusalOf(() => withIds([limit('a'), limit('b'), limit('a')]));
    expect({ code, field }).toEqual({ code: 'ERR_LIMIT', field: 'limits[2].id' });
    expect(text).toContain('"a" is used twice');
  });

  test('limits that are told apart by their number only count apart', () => {
    const bench = new MemoryBench([limit(), slidingWindow({ limit: 5, window: '1s' })]);
    const reply = bench.policy.consume('s', 1);
    expect([numbersOf(reply, 0).remaining, numbersOf(reply, 1).remaining]).toEqual([0, 4]);
  });
});

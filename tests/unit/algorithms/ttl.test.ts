import { fixedWindow, isComportaError, type Limit, slidingWindow, slidingWindowCounter, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { DURATION_MAX_MS } from '../../../packages/comporta/src/algorithms/ranges.js';
import { MemoryBench, numbersOf } from '../../support/memory-bench.js';

const MARGIN_MS = 1000;

/** Refill and period in ms for 10^exponent tokens per second. */
const rateOf = (exponent: number) => ({
  refill: 10 ** Math.max(0, exponent),
  every: 1000 * 10 ** Math.max(0, -exponent),
});

const grid = Array.from({ length: 13 }, (_, i) => i - 6).flatMap((exponent) =>
  Array.from({ length: 10 }, (_, i) => ({ exponent, capacity: 10 ** i })),
);

/** The bucket of one place in the grid; `undefined` when it would take more than ten years to fill. */
function bucketAt(exponent: number, capacity: number): Limit | undefined {
  try {
    return tokenBucket({ capacity, ...rateOf(exponent) });
  } catch (error) {
    if (isComportaError(error)) return undefined;
    throw error;
  }
}

describe('state of a bucket lives until it is full again, and up to a second longer', () => {
  test('rates from 1e-6 to 1e6 per second are refused only where filling takes more than ten years', () => {
    for (const { exponent, capacity } of grid) {
      const fillMs = (capacity / 10 ** exponent) * 1000;
      expect(bucketAt(exponent, capacity) !== undefined, `1e${exponent} per s, ${capacity}`).toBe(
        fillMs <= DURATION_MAX_MS,
      );
    }
  });

  test.each([1, 2, 3])('over all of them, used to 1/%i', (part) => {
    const accepted = grid.filter(({ exponent, capacity }) => bucketAt(exponent, capacity) !== undefined);
    expect(accepted.length).toBeGreaterThan(90);
    for (const { exponent, capacity } of accepted) {
      const bench = new MemoryBench([bucketAt(exponent, capacity) as Limit]);
      const cost = Math.ceil(capacity / part);
      const { retryAfterMs, resetAfterMs } = numbersOf(bench.policy.consume('s', cost));
      const { refill, every } = rateOf(exponent);
      const fillMs = Number((BigInt(cost) * BigInt(every) + BigInt(refill - 1)) / BigInt(refill));
      const ttlMs = bench.ttlMs('s') ?? 0;
      expect(retryAfterMs).toBe(0);
      expect(ttlMs, `1e${exponent} per s, ${cost} of ${capacity}`).toBeGreaterThanOrEqual(fillMs);
      expect(ttlMs).toBeLessThanOrEqual(fillMs + MARGIN_MS);
      expect(resetAfterMs).toBe(fillMs);
    }
  });

  test('a capacity of 1 at 3 per second, whose time to full is no whole second', () => {
    const bench = new MemoryBench([tokenBucket({ capacity: 1, refill: 3, every: '1s' })]);
    bench.policy.consume('s', 1);
    expect(bench.ttlMs('s')).toBe(334 + MARGIN_MS);
  });

  test('a first request of cost 250 leaves state with an end', () => {
    const bench = new MemoryBench([tokenBucket({ capacity: 1000, refill: 1000, every: '1m' })]);
    bench.policy.consume('s', 250);
    expect(bench.ttlMs('s')).toBe(15_000 + MARGIN_MS);
  });
});

describe('state of a window lives for as long as it is read', () => {
  const windows = [1, 999, 1000, 180_000, 2 ** 31 - 1, 2 ** 31, 2_592_000_000, 31_536_000_000, DURATION_MAX_MS];

  test.each(windows)('of %i ms', (window) => {
    const limits: [Limit, number, number][] = [
      [slidingWindow({ limit: 2, window }), window, window],
      [fixedWindow({ limit: 2, window, align: 'first-hit' }), window, window],
      [fixedWindow({ limit: 2, window }), 1, window],
      // The older counter is read until the end of the window after its own.
      [slidingWindowCounter({ limit: 2, window }), window + 1, 2 * window],
    ];
    for (const [limit, min, max] of limits) {
      const bench = new MemoryBench([limit]);
      const { resetAfterMs } = numbersOf(bench.policy.consume('s', 1));
      expect(resetAfterMs).toBeGreaterThanOrEqual(min);
      expect(resetAfterMs).toBeLessThanOrEqual(max);
      expect(bench.ttlMs('s')).toBe(resetAfterMs + MARGIN_MS);
    }
  });

  test.each([2 ** 31 - 1, 2 ** 31, 2_592_000_000, 31_536_000_000])(
    'a window of %i ms counts as any other',
    (window) => {
      for (const make of [slidingWindow, fixedWindow, slidingWindowCounter]) {
        const bench = new MemoryBench([make({ limit: 3, window })]);
        bench.nowUs = window * 10 * 1000;
        const allowedAt = (ms: number) => {
          bench.nowUs = (window * 10 + ms) * 1000;
          return numbersOf(bench.policy.consume('s', 1)).retryAfterMs === 0;
        };
        expect([0, 1, 2, 3].map(allowedAt)).toEqual([true, true, true, false]);
        expect(allowedAt(2 ** 31 - 2)).toBe(false);
        expect(allowedAt(window - 1)).toBe(false);
        expect(allowedAt(2 * window)).toBe(true);
      }
    },
  );
});

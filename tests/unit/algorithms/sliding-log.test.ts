import { type Limit, slidingWindow } from 'comporta';
import { describe, expect, test } from 'vitest';
import { isAllowed, MemoryBench, numbersOf } from '../../support/memory-bench.js';

/** A bench whose clock is read in µs from its start. */
function bench(limit: Limit) {
  const inner = new MemoryBench([limit]);
  const startUs = inner.nowUs;
  const at = (us: number, cost = 1) => {
    inner.nowUs = startUs + us;
    return inner.policy.consume('s', cost);
  };
  return { at, allowedAt: (us: number, cost = 1) => isAllowed(at(us, cost)) };
}

const SECOND = 1_000_000;

describe('a request counts while less than one window has passed since it', () => {
  test('five at 0 leave a 1 s window at exactly 1 s, and not a microsecond sooner', () => {
    const { allowedAt } = bench(slidingWindow({ limit: 5, window: '1s' }));
    expect([0, 0, 0, 0, 0, 0].map((us) => allowedAt(us))).toEqual([true, true, true, true, true, false]);
    expect(allowedAt(SECOND - 1)).toBe(false);
    expect(allowedAt(SECOND)).toBe(true);
  });

  test('what has left is trimmed before counting: all five places are free at 1.001 s', () => {
    const { allowedAt } = bench(slidingWindow({ limit: 5, window: '1s' }));
    for (let i = 0; i < 5; i++) allowedAt(0);
    expect(Array.from({ length: 6 }, () => allowedAt(SECOND + 1000))).toEqual([true, true, true, true, true, false]);
  });
});

test('one a second against 2 per 4 s passes at 0, 1, 4, 5, 8, 9 and so on', () => {
  const { allowedAt } = bench(slidingWindow({ limit: 2, window: '4s' }));
  const seconds = Array.from({ length: 40 }, (_, i) => i);
  expect(seconds.filter((second) => allowedAt(second * SECOND))).toEqual(seconds.filter((second) => second % 4 < 2));
});

test('the wait is counted from the oldest request that must leave', () => {
  const { at, allowedAt } = bench(slidingWindow({ limit: 2, window: '60s' }));
  at(0);
  at(10 * SECOND);
  expect(numbersOf(at(20 * SECOND))).toEqual({
    remaining: 0,
    retryAfterMs: 40_000,
    resetAfterMs: 50_000,
    nextAfterMs: 40_000,
  });
  expect(allowedAt(60 * SECOND - 1)).toBe(false);
  expect(allowedAt(60 * SECOND)).toBe(true);
});

test('a dear request waits until enough of the oldest have left', () => {
  const { at, allowedAt } = bench(slidingWindow({ limit: 10, window: '60s' }));
  at(0, 3);
  at(10 * SECOND, 3);
  at(20 * SECOND, 4);
  const waits = [1, 3, 4, 6, 7, 10, 11].map((cost) => numbersOf(at(30 * SECOND, cost)).retryAfterMs);
  expect(waits).toEqual([30_000, 30_000, 40_000, 40_000, 50_000, 50_000, -1]);
  expect(allowedAt(70 * SECOND, 6)).toBe(true);
});

test('requests of one microsecond each take their own place', () => {
  const { allowedAt } = bench(slidingWindow({ limit: 19, window: '19s' }));
  const passed = Array.from({ length: 10_000 }, (_, i) => allowedAt(Math.floor(i / 200))).filter(Boolean);
  expect(passed.length).toBe(19);
});

test('ten thousand hits spread over one window of 19 admit 19', () => {
  const { allowedAt } = bench(slidingWindow({ limit: 19, window: '19s' }));
  const passed = Array.from({ length: 10_000 }, (_, i) => allowedAt(i * 1899)).filter(Boolean);
  expect(passed.length).toBe(19);
});

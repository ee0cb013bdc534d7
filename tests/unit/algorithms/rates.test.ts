import { type Limit, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { isAllowed, MemoryBench } from '../../support/memory-bench.js';

/** Requests of cost 1 that pass when one comes every `stepUs`. */
function admitted(limit: Limit, seconds: number, stepUs: number): number {
  const bench = new MemoryBench([limit]);
  const endUs = bench.nowUs + seconds * 1_000_000;
  let count = 0;
  for (; bench.nowUs < endUs; bench.nowUs += stepUs) if (isAllowed(bench.policy.consume('s', 1))) count++;
  return count;
}

const within = (measured: number, wanted: number, share: number): void => {
  expect(measured).toBeGreaterThanOrEqual(wanted * (1 - share));
  expect(measured).toBeLessThanOrEqual(wanted * (1 + share));
};

describe('rates above one per millisecond are kept', () => {
  test.each([
    { refill: 1500, capacity: 2 },
    { refill: 2000, capacity: 2 },
    { refill: 8000, capacity: 8 },
    { refill: 8000, capacity: 100 },
    { refill: 2001, capacity: 20 },
  ])('$refill per second with bursts of $capacity, over 10 s', ({ refill, capacity }) => {
    within(admitted(tokenBucket({ capacity, refill, every: '1s' }), 10, 50), refill * 10, 0.01);
  });

  test.each([
    { refill: 2000, capacity: 1 },
    { refill: 1500, capacity: 1 },
    { refill: 8000, capacity: 1 },
  ])('$refill per second with bursts of $capacity: a bucket smaller than one millisecond of refill', (settings) => {
    // Asked often, for a full bucket gains nothing while it waits for the next request.
    within(admitted(tokenBucket({ ...settings, every: '1s' }), 1, 1), settings.refill, 0.01);
  });
});

test.each([
  { refill: 3, every: '7s', seconds: 700, wanted: 300 },
  { refill: 1, every: '3s', seconds: 300, wanted: 100 },
  { refill: 10, every: '30s', seconds: 300, wanted: 100 },
  { refill: 7, every: 999, seconds: 99.9, wanted: 700 },
])('$refill per $every loses nothing to fractions', ({ refill, every, seconds, wanted }) => {
  // Room for a second token, so that none is lost while a full bucket waits for the next millisecond.
  const passed = admitted(tokenBucket({ capacity: 2, refill, every }), seconds, 1000);
  // The two that were there at the start come on top; the last may fall just past the end.
  expect(passed).toBeGreaterThan(wanted);
  expect(passed).toBeLessThanOrEqual(wanted + 2);
});

describe('refused requests never disturb what accrues', () => {
  test('a bucket of 1 per second asked every 100 ms gives exactly 3 in the 3 s after it is empty', () => {
    const bench = new MemoryBench([tokenBucket({ capacity: 1, refill: 1, every: '1s' })]);
    expect(isAllowed(bench.policy.consume('s', 1))).toBe(true);
    const allowedAtMs: number[] = [];
    for (let ms = 100; ms <= 3000; ms += 100) {
      bench.nowUs += 100_000;
      if (isAllowed(bench.policy.consume('s', 1))) allowedAtMs.push(ms);
    }
    expect(allowedAtMs).toEqual([1000, 2000, 3000]);
  });

  test('10 per 30 s, hit each second after its burst, gives one at 3, 6 and 9 s', () => {
    const bench = new MemoryBench([tokenBucket({ capacity: 10, refill: 10, every: '30s' })]);
    bench.policy.consume('s', 10);
    const seconds = Array.from({ length: 9 }, (_, i) => i + 1);
    const allowed = seconds.filter(() => {
      bench.nowUs += 1_000_000;
      return isAllowed(bench.policy.consume('s', 1));
    });
    expect(allowed).toEqual([3, 6, 9]);
  });

  test('requests that are dearer than what is left leave it to the cheap ones', () => {
    const bench = new MemoryBench([tokenBucket({ capacity: 5, refill: 1, every: '1s' })]);
    bench.policy.consume('s', 4);
    for (let i = 0; i < 100; i++) expect(isAllowed(bench.policy.consume('s', 2))).toBe(false);
    expect(isAllowed(bench.policy.consume('s', 1))).toBe(true);
  });

  test('a window refused a hundred times as often as it admits keeps its rate and its size', () => {
    const bench = new MemoryBench([slidingWindow({ limit: 5, window: '1s' })]);
    let passed = 0;
    for (let i = 0; i < 6000; i++, bench.nowUs += 2000) {
      if (isAllowed(bench.policy.consume('s', 1))) passed++;
      expect((bench.state('s') as { entries: unknown[] }).entries.length).toBeLessThanOrEqual(5);
    }
    expect(passed).toBe(5 * 12);
  });
});

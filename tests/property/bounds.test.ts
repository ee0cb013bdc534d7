import { fixedWindow, type Limit, slidingWindow, tokenBucket } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { history, limitOf, START_US, type Step } from '../support/arbitraries.js';
import { isAllowed, MemoryBench } from '../support/memory-bench.js';

interface Admission {
  readonly trueUs: number;
  readonly cost: number;
}

/**
 * Plays a history on a server whose clock steps back now and then while true time only goes on, and
 * returns what was admitted when, by true time.
 */
function admissions(limit: Limit, steps: readonly Step[]): Admission[] {
  const bench = new MemoryBench([limit]);
  let trueUs = START_US;
  let offsetUs = 0;
  const admitted: Admission[] = [];
  for (const step of steps) {
    const moveUs = step.windows * limit.windowMs * 1000 + step.extraUs;
    if (moveUs >= 0) trueUs += moveUs;
    else offsetUs += moveUs;
    bench.nowUs = Math.max(1, trueUs + offsetUs);
    if (isAllowed(bench.decide('s', step.cost))) admitted.push({ trueUs, cost: step.cost });
  }
  return admitted;
}

const scenario = (kind: string): fc.Arbitrary<readonly [Limit, Step[]]> =>
  limitOf(kind).chain((limit) => fc.tuple(fc.constant(limit), history(limit.limit, true, 40)));

/** Cost admitted from admission i to admission j, both included. */
const sum = (admitted: readonly Admission[], i: number, j: number): number =>
  admitted.slice(i, j + 1).reduce((total, { cost }) => total + cost, 0);

/** First pair of admissions between which more was admitted than `allowed` says. */
function excess(admitted: readonly Admission[], allowed: (elapsedUs: number) => number): string | undefined {
  for (let i = 0; i < admitted.length; i++) {
    for (let j = i; j < admitted.length; j++) {
      const elapsedUs = (admitted[j] as Admission).trueUs - (admitted[i] as Admission).trueUs;
      const total = sum(admitted, i, j);
      if (total > allowed(elapsedUs)) return `${total} admitted in ${elapsedUs} us`;
    }
  }
  return undefined;
}

const bucketBound = (limit: Limit) => {
  const [full, token, rate, tick] = limit.args as [number, number, number, number];
  // One more tick: a bucket's clock has whole ticks, so two stamps hide up to one.
  return (elapsedUs: number) => (full + (Math.floor(elapsedUs / tick) + 1) * rate) / token;
};
const windowBound = (limit: Limit) => (elapsedUs: number) =>
  elapsedUs < limit.windowMs * 1000 ? limit.limit : Number.POSITIVE_INFINITY;

function holds(kind: string, bound: (limit: Limit) => (elapsedUs: number) => number): void {
  fc.assert(
    fc.property(scenario(kind), ([limit, steps]) => {
      expect(excess(admissions(limit, steps), bound(limit))).toBeUndefined();
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 1000) },
  );
}

describe('what is admitted, in every interval, though the clock steps back', () => {
  test('a token bucket stays within capacity plus rate times elapsed time', () => {
    holds('tokenBucket', bucketBound);
  });

  test('a sliding window stays within its limit in every window', () => {
    holds('slidingWindow', windowBound);
  });

  test('the check can fail: a fixed window breaks the sliding bound', () => {
    const limit = fixedWindow({ limit: 5, window: '1s' });
    const half = { operation: 'consume', windows: 0, extraUs: 500_000, cost: 5, back: 0 } as const;
    expect(excess(admissions(limit, [half, half, half, half]), windowBound(limit))).toBeDefined();
  });

  test('all of what is allowed is admitted under steady demand', () => {
    const second = { operation: 'consume', windows: 0, extraUs: 1000, cost: 1, back: 0 } as const;
    const demand = Array.from({ length: 10_000 }, () => second);
    const bucket = admissions(tokenBucket({ capacity: 10, refill: 100, every: '1s' }), demand);
    expect(bucket.length).toBe(10 + 999);
    const log = admissions(slidingWindow({ limit: 100, window: '1s' }), demand);
    expect(log.length).toBe(1000);
  });
});

import { slidingWindow, tokenBucket } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withIds } from '../../packages/comporta/src/algorithms/limits.js';
import { shareOf } from '../../packages/comporta/src/algorithms/share.js';
import { LocalShare } from '../../packages/comporta/src/resilience/local-share.js';
import { memoryStore } from '../../packages/comporta/src/stores/memory.js';
import type { StoreReply } from '../../packages/comporta/src/stores/store.js';
import { kinds, limitOf } from '../support/arbitraries.js';
import { FakeClock } from '../support/fake-clock.js';
import { isAllowed } from '../support/memory-bench.js';

const count = fc.integer({ min: 1, max: 50 });

test('the shares of all processes are the whole, and differ by one at most', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), count, (whole, processes) => {
      const shares = Array.from({ length: processes }, (_, rank) => shareOf(whole, { processes, rank }, 0));
      expect(shares.reduce((a, b) => a + b)).toBe(whole);
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
    }),
  );
});

test('a share keeps a request possible, but never makes more of a limit than it is', () => {
  expect(shareOf(3, { processes: 10, rank: 9 }, 1)).toBe(1);
  expect(shareOf(10, { processes: 4, rank: 0 }, 7)).toBe(7);
  expect(shareOf(10, { processes: 4, rank: 0 }, 70)).toBe(10);
  expect(shareOf(0, { processes: 4, rank: 0 }, 1)).toBe(0);
});

/** Processes with the stores of their own that they have in an outage. */
function fleet(limit: Parameters<typeof withIds>[0][number], processes: number) {
  const clock = new FakeClock();
  const plan = { policy: 'p', limits: withIds([limit]) };
  const shares = Array.from({ length: processes }, (_, rank) => {
    return new LocalShare(plan, memoryStore({ clock }), () => ({ processes, rank }));
  });
  const admits = (cost: number) =>
    shares.filter((share) => isAllowed(share.forCost(cost).consume('s', cost) as StoreReply)).length;
  return { clock, admits };
}

describe.each(kinds)('%s', (kind) => {
  test('all processes together admit the limit at once, when it has enough for each', () => {
    fc.assert(
      fc.property(limitOf(kind), fc.integer({ min: 1, max: 6 }), (limit, processes) => {
        fc.pre(limit.limit >= processes && limit.limit <= 200);
        const { admits } = fleet(limit, processes);
        let admitted = 0;
        for (let i = 0; i < limit.limit + 1; i++) admitted += admits(1);
        expect(admitted).toBe(limit.limit);
      }),
      { numRuns: 200 },
    );
  });
});

test('a bucket refills in shares too: together at its rate', () => {
  const { clock, admits } = fleet(tokenBucket({ capacity: 12, refill: 10, every: '1s' }), 4);
  for (let i = 0; i < 12; i++) admits(1);
  let admitted = 0;
  for (let i = 0; i < 1000; i++) {
    clock.advance(10);
    admitted += admits(1);
  }
  expect(admitted).toBeGreaterThanOrEqual(96);
  expect(admitted).toBeLessThanOrEqual(100);
});

test('a request above the share but within the limit passes while the share is unused', () => {
  const { admits } = fleet(slidingWindow({ limit: 10, window: '1m' }), 5);
  expect(admits(7)).toBe(5);
  expect(admits(1)).toBe(0);
  expect(admits(11)).toBe(0);
});

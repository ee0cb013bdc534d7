import { type Limit, slidingWindow, tokenBucket } from 'comporta';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wire } from '../../packages/comporta/src/limiter/create.js';
import type { Limiter } from '../../packages/comporta/src/limiter/limiter.js';
import { FakeClock } from '../support/fake-clock.js';
import { memoryOf, remoteStore } from '../unit/limiter/remote.js';

interface Admission {
  readonly atUs: number;
  readonly cost: number;
}

interface History {
  readonly parts: number;
  readonly processes: number;
  readonly share: number;
  readonly odd: number;
  readonly steps: readonly { readonly passMs: number; readonly process: number; readonly costs: readonly number[] }[];
}

const WINDOW_MS = 200;
const PROCESSES_MAX = 3;

const histories: fc.Arbitrary<History> = fc.record({
  parts: fc.integer({ min: 2, max: 9 }),
  processes: fc.integer({ min: 1, max: PROCESSES_MAX }),
  share: fc.integer({ min: 16, max: 20 }),
  odd: fc.nat(8),
  steps: fc.array(
    fc.record({
      passMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 150 })),
      process: fc.nat(PROCESSES_MAX - 1),
      costs: fc.array(fc.integer({ min: 1, max: 16 }), { minLength: 1, maxLength: 30 }),
    }),
    { maxLength: 25, size: 'max' },
  ),
});

/** What several processes admit of one subject, and how much they asked for. */
async function played(
  { parts, processes, steps }: History,
  limits: Limit,
): Promise<{ readonly admitted: readonly Admission[]; readonly asked: number }> {
  const clock = new FakeClock();
  const memory = memoryOf(clock);
  const limiters = Array.from(
    { length: processes },
    (): Limiter => wire({ policy: 'p', limits, store: remoteStore(memory, clock), split: { parts } }, clock),
  );
  const admitted: Admission[] = [];
  let asked = 0;
  for (const { passMs, process, costs } of steps) {
    clock.advance(passMs);
    const limiter = limiters[process % processes] as Limiter;
    const decisions = await Promise.all(costs.map((cost) => limiter.consume('hot', { cost })));
    for (const { allowed, cost, atUs } of decisions) {
      asked += cost;
      if (allowed) admitted.push({ atUs, cost });
    }
  }
  return { admitted, asked };
}

/** Most that was admitted beyond `most(µs)` in any time from one admission to another. */
function excess(admitted: readonly Admission[], most: (us: number) => number): number {
  let worst = Number.NEGATIVE_INFINITY;
  admitted.forEach((first, i) => {
    let sum = 0;
    for (const { atUs, cost } of admitted.slice(i)) {
      sum += cost;
      worst = Math.max(worst, sum - most(atUs - first.atUs));
    }
  });
  return worst;
}

const limitOf = ({ parts, share, odd }: History): number => parts * share + (odd % parts);

test('over any history no window sees more than the limit, however many parts and processes', async () => {
  let full = 0;
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const limit = limitOf(history);
      const { admitted } = await played(history, slidingWindow({ limit, window: WINDOW_MS }));
      const inWindow = (us: number): number => (us < WINDOW_MS * 1000 ? limit : Number.POSITIVE_INFINITY);
      const worst = excess(admitted, inWindow);
      expect(worst).toBeLessThanOrEqual(0);
      if (worst > -16) full++;
    }),
    { numRuns: 60 },
  );
  // Windows that were nearly full: one more unit in a part would have shown.
  expect(full).toBeGreaterThan(5);
});

test('over any history no time sees more than a whole bucket and what it regains', async () => {
  let short = 0;
  await fc.assert(
    fc.asyncProperty(histories, fc.integer({ min: 1, max: 500 }), async (history, refill) => {
      const capacity = limitOf(history);
      const { admitted, asked } = await played(history, tokenBucket({ capacity, refill, every: WINDOW_MS }));
      const regained = (us: number): number => (us * refill) / (WINDOW_MS * 1000);
      expect(excess(admitted, (us) => capacity + regained(us))).toBeLessThanOrEqual(0);
      if (asked > admitted.reduce((sum, { cost }) => sum + cost, 0)) short++;
    }),
    { numRuns: 60 },
  );
  expect(short).toBeGreaterThan(20);
});

import type { Limit } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { argumentsAt } from '../../packages/comporta/src/algorithms/algorithm.js';
import { costKinds, history, kinds, limitOf, type Step, stepClock } from '../support/arbitraries.js';
import { isAllowed, MemoryBench, numbersOf } from '../support/memory-bench.js';

const RUNS = { numRuns: Number(process.env.PROPERTY_RUNS ?? 300) };

type WithHistory = readonly [Limit, Step[]];
const scenario = (kind: string, mayStepBack: boolean): fc.Arbitrary<WithHistory> =>
  limitOf(kind).chain((limit) => fc.tuple(fc.constant(limit), history(limit.limit, mayStepBack, 25)));

/** Plays the consumes of a history, calling `each` after every one. */
function play(
  [limit, steps]: WithHistory,
  each: (bench: MemoryBench, step: Step, reply: ReturnType<MemoryBench['policy']['consume']>) => void,
): void {
  const bench = new MemoryBench([limit]);
  for (const step of steps) {
    bench.nowUs = stepClock(bench.nowUs, step, limit.windowMs);
    each(bench, step, bench.decide('s', step.cost));
  }
}

describe.each(costKinds)('%s', (kind) => {
  test('n requests of cost 1 leave what one request of cost n leaves', () => {
    fc.assert(
      fc.property(limitOf(kind), fc.integer({ min: 1, max: 12 }), (limit, n) => {
        fc.pre(n <= limit.limit);
        const [one, many] = [new MemoryBench([limit]), new MemoryBench([limit])];
        const single = one.policy.consume('s', n);
        for (let i = 0; i < n; i++) many.policy.consume('s', 1);
        expect(numbersOf(many.policy.peek('s', 1))).toEqual(numbersOf(one.policy.peek('s', 1)));
        expect(isAllowed(single)).toBe(true);
      }),
      RUNS,
    );
  });

  test('a cost above the limit is refused for ever, at any fill', () => {
    fc.assert(
      fc.property(scenario(kind, true), (given) => {
        play(given, (bench) => {
          const { retryAfterMs } = numbersOf(bench.policy.consume('s', given[0].limit + 1));
          expect(retryAfterMs).toBe(-1);
        });
      }),
      RUNS,
    );
  });
});

describe.each(kinds)('%s', (kind) => {
  test('waiting exactly retryAfterMs suffices, and one millisecond less does not', () => {
    fc.assert(
      fc.property(scenario(kind, true), (given) => {
        play(given, (bench, { cost }, reply) => {
          const { retryAfterMs } = numbersOf(reply);
          if (retryAfterMs <= 0) return;
          expect(numbersOf(bench.peekAfter(retryAfterMs, 's', cost)).retryAfterMs).toBe(0);
          expect(numbersOf(bench.peekAfter(retryAfterMs - 1, 's', cost)).retryAfterMs).toBeGreaterThan(0);
        });
      }),
      RUNS,
    );
  });

  test('remaining grows at nextAfterMs and not before, and everything is back at resetAfterMs', () => {
    fc.assert(
      fc.property(scenario(kind, false), (given) => {
        play(given, (bench, _step, reply) => {
          const { remaining, nextAfterMs, resetAfterMs } = numbersOf(reply);
          const limit = given[0].limit;
          if (nextAfterMs > 0) {
            expect(numbersOf(bench.peekAfter(nextAfterMs, 's', 0)).remaining).toBeGreaterThan(remaining);
            expect(numbersOf(bench.peekAfter(nextAfterMs - 1, 's', 0)).remaining).toBe(remaining);
          }
          expect(numbersOf(bench.peekAfter(resetAfterMs, 's', 0))).toEqual({
            remaining: limit,
            retryAfterMs: 0,
            resetAfterMs: 0,
            nextAfterMs: 0,
          });
        });
      }),
      RUNS,
    );
  });

  test('a refusal changes nothing', () => {
    fc.assert(
      fc.property(scenario(kind, false), ([limit, steps]) => {
        const bench = new MemoryBench([limit]);
        for (const step of steps) {
          bench.nowUs = stepClock(bench.nowUs, step, limit.windowMs);
          const before = bench.snapshot('s');
          if (!isAllowed(bench.decide('s', step.cost))) expect(bench.snapshot('s')).toBe(before);
        }
      }),
      RUNS,
    );
  });

  test('a look changes nothing and answers what the request would be told', () => {
    fc.assert(
      fc.property(scenario(kind, true), ([limit, steps]) => {
        const bench = new MemoryBench([limit]);
        for (const step of steps) {
          bench.nowUs = stepClock(bench.nowUs, step, limit.windowMs);
          const before = bench.snapshot('s');
          const seen = bench.policy.peek('s', step.cost);
          expect(bench.snapshot('s')).toBe(before);
          expect(numbersOf(bench.decide('s', step.cost)).retryAfterMs).toBe(numbersOf(seen).retryAfterMs);
        }
      }),
      RUNS,
    );
  });

  test('remaining never leaves 0 to limit, whatever the clock and the refunds do', () => {
    fc.assert(
      fc.property(scenario(kind, true), ([limit, steps]) => {
        const bench = new MemoryBench([limit]);
        const charges: { id: string; atUs: number; cost: number }[] = [];
        steps.forEach((step, i) => {
          bench.nowUs = stepClock(bench.nowUs, step, limit.windowMs);
          const charge = charges.at(-1 - step.back);
          if (step.operation === 'refund' && charge !== undefined) {
            bench.policy.refund({ subject: 's', decisionId: charge.id, atUs: charge.atUs, amount: charge.cost });
          } else {
            const reply = bench.decide('s', step.cost);
            if (isAllowed(reply) && step.cost > 0) charges.push({ id: String(i), atUs: reply.atUs, cost: step.cost });
          }
          const { remaining } = numbersOf(bench.policy.peek('s', 0));
          expect(remaining).toBeGreaterThanOrEqual(0);
          expect(remaining).toBeLessThanOrEqual(limit.limit);
        });
      }),
      RUNS,
    );
  });

  test('a refund at once brings back what was there, and a second one nothing more', () => {
    fc.assert(
      fc.property(scenario(kind, false), (given) => {
        const [limit, steps] = given;
        const bench = new MemoryBench([limit]);
        steps.forEach((step, i) => {
          bench.nowUs = stepClock(bench.nowUs, step, limit.windowMs);
          const before = numbersOf(bench.policy.peek('s', 0)).remaining;
          const decisionId = String(i);
          const reply = bench.decide('s', step.cost, decisionId);
          if (!isAllowed(reply) || step.cost === 0 || step.operation !== 'refund') return;
          const charge = { subject: 's', decisionId, atUs: reply.atUs, amount: step.cost };
          expect(bench.policy.refund(charge)).toBe(1);
          expect(bench.policy.refund(charge)).toBe(0);
          expect(numbersOf(bench.policy.peek('s', 0)).remaining).toBe(before);
        });
      }),
      RUNS,
    );
  });

  test('after a clock step back nobody waits longer than one window', () => {
    fc.assert(
      fc.property(scenario(kind, true), (given) => {
        play(given, (bench) => {
          const [limit] = given;
          if (limit.limit < 1) return;
          bench.policy.consume('s', 1);
          const { retryAfterMs } = numbersOf(bench.policy.peek('s', 1));
          // Two windows for the estimate: its older window fades only during the newer one.
          const windows = kind === 'slidingWindowCounter' ? 2 : 1;
          // A day on which clocks go back is longer than a day.
          const extraMs = kind === 'quota' ? 3_600_000 : 0;
          expect(retryAfterMs).toBeLessThanOrEqual(limit.windowMs * windows + extraMs);
        });
      }),
      RUNS,
    );
  });

  test('state is kept as long as it matters and not longer than two windows and a second', () => {
    fc.assert(
      fc.property(scenario(kind, true), (given) => {
        play(given, (bench, { cost }) => {
          const { algorithm, windowMs } = given[0];
          const args = argumentsAt(given[0], Math.floor(bench.nowUs / 1000));
          const now = algorithm.clock === 'us' ? bench.nowUs : Math.floor(bench.nowUs / 1000);
          const evaluation = algorithm.evaluate(structuredClone(bench.state('s')), now, cost, args);
          if (evaluation.retryAfterMs !== 0) return;
          const state = algorithm.commit(evaluation.state, now, cost, args, 'holder');
          const { resetAfterMs } = algorithm.describe(state, now, args);
          const ttlMs = algorithm.ttlMs(state, now, args, resetAfterMs);
          expect(ttlMs).toBeGreaterThanOrEqual(resetAfterMs);
          expect(ttlMs).toBeLessThanOrEqual(2 * windowMs + 1000);
        });
      }),
      RUNS,
    );
  });
});

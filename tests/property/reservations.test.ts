import { type Limiter, memoryStore, type Reservation, slidingWindow } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wire } from '../../packages/comporta/src/limiter/create.js';
import { Balance } from '../support/balance.js';
import { budgetOf, budgets } from '../support/budgets.js';
import { FakeClock } from '../support/fake-clock.js';

const RUNS = { numRuns: Number(process.env.PROPERTY_RUNS ?? 150) };
const LIMIT = 20;

const step = fc.record({
  operation: fc.constantFrom(
    'reserve',
    'reserve',
    'reserve',
    'settle',
    'settle',
    'cancel',
    'refund',
    'consume',
    'charge',
  ),
  cost: fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 6 }) }, fc.constantFrom(LIMIT, LIMIT + 1, 35)),
  holdMs: fc.constantFrom(1, 20, 50, 1000, 60_000),
  onExpiry: fc.constantFrom('release', 'release', 'keep'),
  back: fc.nat(5),
  passMs: fc.constantFrom(0, 0, 0, 1, 19, 20, 50, 2000),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const history = fc.array(step, { minLength: 1, maxLength: 40 });

interface Bench {
  readonly clock: FakeClock;
  readonly limiter: Limiter;
  readonly reservations: Reservation[];
  readonly balance: Balance;
}

function open(kind: string): Bench {
  const clock = new FakeClock();
  const limits = budgetOf(kind, LIMIT);
  const limiter = wire({ policy: 'p', limits, store: memoryStore({ clock }) }, clock);
  return { clock, limiter, reservations: [], balance: new Balance(LIMIT) };
}

const left = async (limiter: Limiter): Promise<number | undefined> =>
  (await limiter.peek('s', { cost: 0 })).limits[0]?.remaining;

/**
 * What one step answers, and what the balance says that it must answer. A balance that is only an upper bound may
 * see room where there is none: it then believes a refusal.
 */
async function play(
  { clock, limiter, reservations, balance }: Bench,
  given: Step,
  isBound = false,
): Promise<[unknown, unknown]> {
  const { operation, cost, holdMs, onExpiry, back } = given;
  const nowMs = clock.nowUs() / 1000;
  const reservation = reservations.at(-1 - back);
  const fits = (allowed: boolean, mayFit: () => boolean): [boolean, boolean] =>
    isBound && !allowed ? [false, false] : [allowed, mayFit()];
  if (operation === 'consume') return fits((await limiter.consume('s', { cost })).allowed, () => balance.consume(cost));
  if (operation === 'charge') {
    await limiter.charge('s', cost);
    return [undefined, balance.charge(cost)];
  }
  if (operation === 'reserve' || reservation === undefined) {
    const made = await limiter.reserve('s', { cost, holdMs, onExpiry: onExpiry as Reservation['onExpiry'] });
    if (made.allowed) reservations.push(made);
    if (onExpiry === 'release') balance.release(nowMs);
    return fits(made.allowed, () => balance.reserve({ ...made, atMs: nowMs }));
  }
  if (operation === 'refund') {
    // What is kept is an ordinary charge to a refund: it has no end.
    if (reservation.onExpiry === 'keep') return [0, 0];
    const amount = Math.min(cost, reservation.cost);
    const expected = balance.settle(reservation.id, reservation.cost - amount, nowMs) === undefined;
    return [await limiter.refund(reservation, amount), expected];
  }
  const real = operation === 'cancel' ? 0 : cost;
  const { settled, reason } = await limiter.settle(reservation, real);
  expect(settled).toBe(reason === undefined);
  return [reason, balance.settle(reservation.id, real, nowMs)];
}

describe.each(Object.keys(budgets))('%s', (kind) => {
  test('whoever settles, cancels, refunds or dies, and when: the balance is exact after every step', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const bench = open(kind);
        for (const given of steps) {
          const [got, expected] = await play(bench, given);
          expect(got).toBe(expected);
          expect(await left(bench.limiter)).toBe(bench.balance.left);
          bench.clock.advance(given.passMs);
        }
      }),
      RUNS,
    );
  });

  test('a clock that steps back never makes room that is not there', async () => {
    const steps = fc.array(fc.tuple(step, fc.constantFrom(0, 0, 0, -1, -60, -3_600_000, -100_000_000)), {
      minLength: 1,
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const bench = open(kind);
        for (const [given, backMs] of all) {
          const [got, expected] = await play(bench, given, true);
          if (typeof got === 'boolean' && given.operation !== 'refund') expect(got).toBe(expected);
          expect(await left(bench.limiter)).toBeLessThanOrEqual(bench.balance.left);
          bench.clock.advance(given.passMs + backMs);
        }
      }),
      RUNS,
    );
  });
});

test('ten thousand reservations of one subject are given back a hundred per call', async () => {
  const clock = new FakeClock();
  const limits = slidingWindow({ limit: 10_000, window: '1h' });
  const limiter = wire({ policy: 'p', limits }, clock);
  for (let i = 0; i < 10_000; i++) {
    await limiter.reserve('s', { holdMs: 1000 });
    clock.advance(0.01);
  }
  expect((await limiter.reserve('s', { holdMs: 1000 })).allowed).toBe(false);
  clock.advance(1000);
  for (let round = 1; round <= 5; round++) {
    await limiter.reserve('s', { holdMs: 60_000 });
    expect(await left(limiter)).toBe(round * 99);
  }
});

import { type Limiter, memoryStore, type Reservation, slidingWindow, tokenBucket } from 'comporta';
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

describe('what cannot be meant', () => {
  const limits = [tokenBucket({ capacity: 10, refill: 1, every: '1h' }), slidingWindow({ limit: 10, window: '1h' })];
  const limiterOf = (policy = 'p') => wire({ policy, limits }, new FakeClock());

  test.each([
    ['a cost of 0', { cost: 0 }, 'ERR_COST'],
    ['a negative cost', { cost: -1 }, 'ERR_COST'],
    ['a cost in parts', { cost: 1.5 }, 'ERR_COST'],
    ['no time', { holdMs: 0 }, 'ERR_OPTION'],
    ['more than a day', { holdMs: 86_400_001 }, 'ERR_OPTION'],
    ['half a millisecond', { holdMs: 0.5 }, 'ERR_DURATION'],
    ['no number of milliseconds', { holdMs: Number.NaN }, 'ERR_DURATION'],
    ['a third way to end', { onExpiry: 'burn' as 'keep' }, 'ERR_OPTION'],
    ['an option that does not exist', { hold: 5 } as object, 'ERR_OPTION'],
    ['null for options', null as unknown as undefined, 'ERR_OPTION'],
    ['a text for options', 'fast' as unknown as undefined, 'ERR_OPTION'],
    ['a plan that does not exist', { plan: 'gold' }, 'ERR_PLAN'],
  ])('to reserve with %s is refused and charges nothing', async (_, options, code) => {
    const limiter = limiterOf();
    await expect(limiter.reserve('s', options)).rejects.toMatchObject({ code });
    expect(await left(limiter)).toBe(10);
  });

  test('a cost above the limit is a refusal, for which there is nothing to settle', async () => {
    const limiter = limiterOf();
    const refused = await limiter.reserve('s', { cost: 11 });
    expect([refused.allowed, refused.reason, refused.retryAfterMs]).toEqual([false, 'cost-exceeds-limit', null]);
    await expect(limiter.settle(refused, 1)).rejects.toMatchObject({ code: 'ERR_RESERVATION' });
  });

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '3', null])(
    'a real cost of %s is refused, and the reservation can still be settled',
    async (cost) => {
      const limiter = limiterOf();
      const reservation = await limiter.reserve('s', { cost: 4 });
      await expect(limiter.settle(reservation, cost as number)).rejects.toMatchObject({ code: 'ERR_COST' });
      expect((await limiter.settle(reservation, 1)).settled).toBe(true);
      expect(await left(limiter)).toBe(9);
    },
  );

  test('the largest real cost is a debt, and a reset forgives it', async () => {
    const limiter = limiterOf();
    const { limits: after } = await limiter.settle(await limiter.reserve('s'), Number.MAX_SAFE_INTEGER);
    expect(after.map(({ remaining }) => remaining)).toEqual([0, 0]);
    expect(after.every(({ retryAfterMs }) => Number.isSafeInteger(retryAfterMs) && (retryAfterMs ?? 0) > 0)).toBe(true);
    await limiter.reset('s');
    expect(await left(limiter)).toBe(10);
  });

  const thrower = {
    get: () => {
      throw new Error('touched');
    },
  };
  const forged: readonly [string, (real: Reservation) => unknown][] = [
    ['nothing', () => undefined],
    ['null', () => null],
    ['a text', () => 'r1'],
    ['an empty object', () => ({})],
    ['one of another policy', (real) => ({ ...real, policy: 'q' })],
    ['one that was refused', (real) => ({ ...real, allowed: false })],
    ['a plain decision', ({ holdMs: _, onExpiry: __, ...decision }) => decision],
    ['an id that no limiter makes', (real) => ({ ...real, id: 'a:1:2' })],
    ['the id of a look', (real) => ({ ...real, id: `.${real.id}` })],
    ['a cost of 0', (real) => ({ ...real, cost: 0 })],
    ['a cost below 0', (real) => ({ ...real, cost: -4 })],
    ['a time that cannot be added to', (real) => ({ ...real, atUs: Number.MAX_SAFE_INTEGER })],
    ['a time as a text', (real) => ({ ...real, atUs: String(real.atUs) })],
    ['more than a day', (real) => ({ ...real, holdMs: 86_400_001 })],
    ['a third way to end', (real) => ({ ...real, onExpiry: 'burn' })],
    ['no subject', (real) => ({ ...real, subject: '' })],
    ['a subject that is none', (real) => ({ ...real, subject: { toString: () => 's' } })],
    ['a failure mode that does not exist', (real) => ({ ...real, degraded: { mode: 'free' } })],
    ['no limits', (real) => ({ ...real, limits: undefined })],
    ['limits that are none', (real) => ({ ...real, limits: [null] })],
    ['a getter that throws', (real) => Object.defineProperty({ ...real }, 'id', thrower)],
    [
      'a limit with a getter that throws',
      (real) => ({ ...real, limits: [Object.defineProperty({}, 'id', { ...thrower, enumerable: true })] }),
    ],
    ['a proxy that throws', (real) => new Proxy(real, { get: thrower.get })],
  ];
  test.each(forged)('%s is no reservation, and changes nothing', async (_, forge) => {
    const limiter = limiterOf();
    const real = await limiter.reserve('s', { cost: 4 });
    await expect(limiter.settle(forge(real) as Reservation, 1)).rejects.toMatchObject({ code: 'ERR_RESERVATION' });
    await expect(limiter.cancel(forge(real) as Reservation)).rejects.toMatchObject({ code: 'ERR_RESERVATION' });
    expect(await left(limiter)).toBe(6);
    expect((await limiter.settle(real, 1)).settled).toBe(true);
  });

  test.each([
    ['another cost', { cost: 9 }],
    ['another time', { atUs: 1 }],
    ['another id', { id: 'zz' }],
    ['another subject', { subject: 't' }],
  ])('a reservation altered to %s is not found', async (_, change) => {
    const limiter = limiterOf();
    await limiter.consume('s', { cost: 5 });
    const real = await limiter.reserve('s', { cost: 4 });
    expect((await limiter.settle({ ...real, ...change }, 0)).reason).toBe('expired');
    expect(await left(limiter)).toBe(1);
    expect((await limiter.settle(real, 1)).settled).toBe(true);
  });

  test('a reservation that names a prototype pollutes nothing', async () => {
    const limiter = limiterOf();
    const text = JSON.stringify(await limiter.reserve('__proto__', { cost: 4 }));
    const received = JSON.parse(text.replace('{', '{"__proto__":{"polluted":1},"constructor":{"polluted":1},'));
    expect((await limiter.settle(received, 1)).settled).toBe(true);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect('polluted' in {}).toBe(false);
  });

  test('a reservation is read once: what a getter says later counts for nothing', async () => {
    const limiter = limiterOf();
    await limiter.consume('s', { cost: 6 });
    const real = await limiter.reserve('s', { cost: 4 });
    let asked = 0;
    const shifty = Object.defineProperty({ ...real }, 'cost', { get: () => (asked++ === 0 ? 4 : 10) });
    expect((await limiter.settle(shifty, 0)).settled).toBe(true);
    expect([asked, await left(limiter)]).toEqual([1, 4]);
  });

  test('null in place of what was left out is understood, as databases write it', async () => {
    const limiter = limiterOf();
    const real = await limiter.reserve('s', { cost: 4 });
    const stored = { ...real, reason: null, degraded: null } as unknown as Reservation;
    expect((await limiter.settle(stored, 1)).settled).toBe(true);
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

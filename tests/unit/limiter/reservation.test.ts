import { type Limiter, memoryStore, type Reservation, reserveAll, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { scripted, unavailable } from './scripted-store.js';

const left = async (limiter: Limiter, subject = 's'): Promise<number | undefined> =>
  (await limiter.peek(subject, { cost: 0 })).limits[0]?.remaining;

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

describe('several subjects', () => {
  const sizes = [5, 6, 7];
  function open() {
    const clock = new FakeClock();
    const store = memoryStore({ clock });
    const limitersOf = (size: number, i: number) =>
      wire({ policy: `p${i}`, limits: slidingWindow({ limit: size, window: '1h' }), store }, clock);
    const limiters = sizes.map(limitersOf);
    const checks = (costs: readonly number[]) =>
      limiters.map((limiter, i) => ({ limiter, subject: 's', cost: costs[i] as number }));
    return { clock, limiters, checks, lefts: () => Promise.all(limiters.map((limiter) => left(limiter))) };
  }

  test('are reserved for in the order of the checks, and settled one by one', async () => {
    const { limiters, checks, lefts } = open();
    const { allowed, reservations } = await reserveAll(checks([1, 2, 3]), { holdMs: 1000, onExpiry: 'keep' });
    expect(allowed).toBe(true);
    expect(reservations.map(({ policy, cost, holdMs, onExpiry }) => [policy, cost, holdMs, onExpiry])).toEqual([
      ['p0', 1, 1000, 'keep'],
      ['p1', 2, 1000, 'keep'],
      ['p2', 3, 1000, 'keep'],
    ]);
    for (const [i, limiter] of limiters.entries()) await limiter.settle(reservations[i] as Reservation, 5);
    expect(await lefts()).toEqual([0, 1, 2]);
  });

  test.each([0, 1, 2])('get their reservations back when number %i refuses', async (refusing) => {
    const { checks, lefts } = open();
    const { allowed, reservations } = await reserveAll(checks([2, 2, 2].map((cost, i) => (i === refusing ? 9 : cost))));
    expect(allowed).toBe(false);
    expect(reservations.map((one) => one.allowed)).toEqual([0, 1, 2].map((i) => i !== refusing));
    await flush();
    expect(await lefts()).toEqual(sizes);
  });

  test.each([
    ['a cost that is none', { cost: -1 }, 'ERR_COST'],
    ['no subject', { subject: '' }, 'ERR_SUBJECT'],
  ])('%s of one of them is thrown, and nothing stays reserved', async (_, change, code) => {
    const { checks, lefts } = open();
    const [one, two, three] = checks([1, 1, 1]) as [ReturnType<typeof checks>[0], never, never];
    await expect(reserveAll([one, { ...(two as typeof one), ...change }, three])).rejects.toMatchObject({ code });
    await flush();
    expect(await lefts()).toEqual(sizes);
  });

  test('none at all are reserved for at once', async () => {
    expect(await reserveAll([])).toEqual({ allowed: true, reservations: [] });
  });
});

test('a store that only decides settles nothing and says so', async () => {
  const limits = slidingWindow({ limit: 5, window: '1h' });
  const { limiter, store } = scripted({ limits });
  const kept = await wire({ policy: 'api', limits }, new FakeClock()).reserve('s', { cost: 2 });
  store.throws = unavailable();
  expect(await limiter.settle(kept, 1)).toEqual({ settled: false, reason: 'store-unavailable', limits: [] });
});

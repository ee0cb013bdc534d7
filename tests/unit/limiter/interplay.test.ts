import {
  concurrency,
  createLimiter,
  decideAll,
  fixedWindow,
  type Limit,
  type LimiterOptions,
  memoryStore,
  slidingWindow,
} from 'comporta';
import { faultyStore, testLimiter } from 'comporta/testing';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';

const daily = (limit: number, id?: string): Limit =>
  fixedWindow({ limit, window: '1d', ...(id === undefined ? {} : { id }) });

/** Several processes on one store, with a clock in the test's hand. */
function processes(count: number, options: Omit<LimiterOptions, 'policy' | 'store'>) {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const limiters = Array.from({ length: count }, () => wire({ policy: 'p', store, ...options }, clock));
  return { clock, limiters: limiters as [ReturnType<typeof wire>, ...ReturnType<typeof wire>[]] };
}

const left = async (limiter: ReturnType<typeof wire>, plan?: string): Promise<number | undefined> =>
  (await limiter.peek('s', plan === undefined ? {} : { plan })).limits[0]?.remaining;

describe('reservations under limits of several plans', () => {
  test('come back to the limits that they were made by, and to no others', async () => {
    const { clock, limiters } = processes(1, { limits: daily(10), plans: { batch: daily(100, 'batch') } });
    const [limiter] = limiters;
    await limiter.consume('s', { cost: 10 });
    await limiter.reserve('s', { cost: 50, plan: 'batch', holdMs: 20 });
    await clock.pass(40);
    expect((await limiter.reserve('s', { cost: 10 })).allowed).toBe(false);
    expect((await limiter.reserve('s', { cost: 100, plan: 'batch' })).allowed).toBe(true);
  });

  test('are not settled by a process that does not know the limits behind them', async () => {
    const { limiters } = processes(2, { limits: daily(10), overrides: true });
    const [maker, other] = limiters as [ReturnType<typeof wire>, ReturnType<typeof wire>];
    await maker.consume('s', { cost: 9 });
    await maker.setOverride('s', { limits: [daily(100, 'special')] }, '1h');
    const met = await maker.reserve('s', { cost: 50 });
    expect(await other.settle(JSON.parse(JSON.stringify(met)), 5)).toMatchObject({ settled: true });
    const unknown = await maker.reserve('s', { cost: 50 });
    await maker.removeOverride('s');
    const third = wire({ policy: 'p', store: memoryStore(), limits: daily(10), overrides: true }, new FakeClock());
    expect(await third.settle(JSON.parse(JSON.stringify(unknown)), 5)).toMatchObject({ reason: 'limits-unknown' });
    expect(await left(maker)).toBe(1);
  });

  test('that are kept are given back once, however late somebody settles', async () => {
    const { clock, limiters } = processes(1, { limits: slidingWindow({ limit: 100, window: '100ms' }) });
    const kept = await limiters[0].reserve('s', { cost: 10, onExpiry: 'keep', holdMs: 60_000 });
    expect(await limiters[0].refund(kept)).toBe(true);
    await clock.pass(2000);
    expect(await limiters[0].settle(kept, 50)).toMatchObject({ settled: false, reason: 'already-settled' });
  });

  test('an id is that of one algorithm', () => {
    const plans = { pro: slidingWindow({ id: 'm', limit: 10, window: '1h' }) };
    const options = { policy: 'p', limits: fixedWindow({ id: 'm', limit: 10, window: '1h' }), plans };
    expect(() => createLimiter(options)).toThrow(/plans\.pro: the id "m" is that of another algorithm/);
  });
});

describe('an outage', () => {
  const away = (options: Omit<LimiterOptions, 'policy' | 'store'>) => {
    const clock = new FakeClock();
    const store = faultyStore({ clock });
    return { store, ...testLimiter({ clock, store, ...options }) };
  };

  test('begins with what settling and charging left', async () => {
    const { store, limiter } = away({ limits: daily(100) });
    const reserved = await limiter.reserve('s', { cost: 10 });
    await limiter.settle(reserved, 100);
    await limiter.charge('t', 500);
    store.down();
    expect((await limiter.consume('s')).allowed).toBe(false);
    expect((await limiter.consume('t')).allowed).toBe(false);
  });

  test('lets in whom this process has let in', async () => {
    const { store, limiter } = away({ limits: daily(100), blocks: true });
    await limiter.block('s', '1h');
    await limiter.consume('s');
    await limiter.unblock('s');
    await limiter.block('t', '1h');
    store.down();
    expect((await limiter.consume('s')).allowed).toBe(true);
    expect((await limiter.consume('t')).reason).toBe('blocked');
  });

  test('what is not owed cannot be forgiven', async () => {
    const { store, limiter, clock } = away({ limits: daily(100) });
    await limiter.peek('s');
    store.freeze();
    const asking = limiter.consume('s', { cost: 40 });
    await clock.pass(60);
    const unheard = await asking;
    store.down();
    await limiter.consume('s', { cost: 50 });
    await limiter.refund(unheard);
    store.up();
    await clock.pass(1000);
    await limiter.peek('other');
    await clock.pass(5000);
    expect((await limiter.peek('s')).limits[0]?.remaining).toBeLessThanOrEqual(50);
  });
});

describe('misuse', () => {
  test('of one of several subjects is thrown, and the others are given back', async () => {
    const clock = new FakeClock();
    const store = faultyStore({ clock });
    store.slow(5);
    const { limiter } = testLimiter({ clock, store, limits: daily(10) });
    const failing = testLimiter({ clock, store, limits: daily(10), policy: 'q', plans: { pro: daily(5, 'pro') } });
    const checks = [
      { limiter, subject: 's' },
      { limiter: failing.limiter, subject: 's', cost: -1 },
    ];
    expect(() => decideAll(checks)).toThrow(/cost/);
    await clock.pass(50);
    await flush();
    await clock.pass(50);
    const peeked = limiter.peek('s');
    await clock.pass(50);
    expect((await peeked).limits[0]?.remaining).toBe(10);
    expect(() => decideAll([null] as never)).toThrow(/checks/);
    expect(() => limiter.on('nope' as never, () => undefined)).toThrow(/there is no event/);
    expect(() => limiter.hold({} as never)).toThrow(/decision/);
    await expect(limiter.acquire('s', { maxWaitMs: -5 })).rejects.toThrow(/maxWaitMs/);
  });

  test('a place that is taken while the limiter closes is freed', async () => {
    const clock = new FakeClock();
    const store = faultyStore({ clock });
    store.slow(5);
    const limits = concurrency({ limit: 1, lease: '1h' });
    const [one, other] = [1, 2].map(() => testLimiter({ clock, store, limits }).limiter);
    const refused = expect(one?.acquire('s')).rejects.toThrow(/closed/);
    const closing = one?.close();
    await clock.pass(50);
    await refused;
    await closing;
    await clock.pass(50);
    const next = other?.consume('s');
    await clock.pass(50);
    expect((await next)?.allowed).toBe(true);
  });
});

test('who waits under limits of its own, which this process has not met, waits for those', async () => {
  const { clock, limiters } = processes(2, { limits: daily(10), overrides: true });
  const [maker, other] = limiters as [ReturnType<typeof wire>, ReturnType<typeof wire>];
  await maker.setOverride('s', { limits: [slidingWindow({ limit: 100, window: '1s' })] }, '1h');
  await maker.consume('s', { cost: 80 });
  const waiting = other.wait('s', { cost: 50, maxWaitMs: 10_000 });
  await clock.pass(1100);
  expect((await waiting).allowed).toBe(true);
});

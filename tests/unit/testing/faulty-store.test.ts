import { type LimiterOptions, slidingWindow } from 'comporta';
import { assertAdmits, assertDegraded, assertRefuses, FakeClock, faultyStore, testLimiter } from 'comporta/testing';
import { expect, test } from 'vitest';

const limits = slidingWindow({ limit: 2, window: '10s' });

function setUp(options: Partial<LimiterOptions> = {}) {
  const clock = new FakeClock();
  const store = faultyStore({ clock });
  return { ...testLimiter({ limits, store, clock, instances: 1, payBack: false, ...options }), store };
}

const own = { instances: 'auto' } as const;

test('a store that nobody told otherwise serves, from memory', async () => {
  const { limiter, clock } = setUp();
  await assertAdmits(limiter, 'a', 2);
  await assertRefuses(limiter, 'a', { reason: 'limit-exceeded', retryAfterMs: 10_000 });
  await clock.pass(10_000);
  await assertAdmits(limiter, 'a', 2);
  expect(clock.timers).toBe(0);
});

test('down refuses at once; up serves again, with all that was counted', async () => {
  const { limiter, clock, store } = setUp({ ...own, onStoreFailure: 'closed' });
  await assertAdmits(limiter, 'a');
  store.down();
  for (let i = 0; i < 3; i++) {
    assertDegraded(await limiter.consume('a'), { mode: 'closed', cause: 'unavailable', allowed: false });
  }
  assertDegraded(await limiter.consume('a'), { cause: 'breaker-open' });
  store.up();
  await clock.pass(1000);
  await assertAdmits(limiter, 'a');
  await assertRefuses(limiter, 'a');
});

test('in mode local the limit is kept while the store is down', async () => {
  const { limiter, store } = setUp({ onStoreFailure: 'local' });
  store.down();
  const decisions = [await limiter.consume('a'), await limiter.consume('a'), await limiter.consume('a')];
  for (const decision of decisions) assertDegraded(decision, { mode: 'local' });
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false]);
});

test('a frozen store answers nothing, and does what it received when it is up', async () => {
  const { limiter, clock, store } = setUp({ ...own, onStoreFailure: 'open' });
  store.freeze();
  const asked = limiter.consume('a');
  await clock.pass(49);
  expect(clock.timers).toBe(1);
  await clock.pass(1);
  assertDegraded(await asked, { mode: 'open', cause: 'timeout', allowed: true });
  store.up();
  expect((await limiter.peek('a')).limits[0]?.remaining).toBe(1);
});

test('a slow store answers later, and in time where the time limit is longer', async () => {
  const { limiter, clock, store } = setUp({ ...own, onStoreFailure: 'closed' });
  store.slow(40);
  const inTime = limiter.consume('a');
  await clock.pass(40);
  expect(await inTime).toMatchObject({ allowed: true, degraded: undefined });
  store.slow(60);
  const late = limiter.consume('a');
  await clock.pass(60);
  assertDegraded(await late, { cause: 'timeout' });
  store.up();
  await assertRefuses(limiter, 'a', { reason: 'limit-exceeded' });
  expect(clock.timers).toBe(0);
});

test('a store that loses its replies has charged', async () => {
  const { limiter, clock, store } = setUp({ ...own, onStoreFailure: 'closed' });
  store.loseReplies();
  const asked = limiter.consume('a');
  await clock.pass(50);
  assertDegraded(await asked, { cause: 'timeout' });
  store.up();
  await assertAdmits(limiter, 'a');
  await assertRefuses(limiter, 'a');
});

test('calls that wait for an answer fail when the store goes down', async () => {
  const { limiter, clock, store } = setUp({ ...own, onStoreFailure: 'closed' });
  for (const fault of [() => store.freeze(), () => store.slow(10), () => store.loseReplies()]) {
    fault();
    const asked = limiter.consume('a');
    store.down();
    assertDegraded(await asked, { cause: 'unavailable' });
    store.up();
    await clock.pass(1000);
  }
  expect(clock.timers).toBe(0);
});

test('every other operation meets the same faults', async () => {
  const { limiter, store } = setUp({ ...own, onStoreFailure: 'closed' });
  const decision = await assertAdmits(limiter, 'a');
  const reserved = await limiter.reserve('a');
  store.down();
  expect(await limiter.refund(decision)).toBe(false);
  expect(await limiter.settle(reserved, 0)).toMatchObject({ settled: false });
  await expect(limiter.reset('a')).rejects.toMatchObject({ name: 'StoreError' });
  await expect(store.ping()).rejects.toMatchObject({ kind: 'unavailable' });
});

test('ready waits for the store, and no longer than it is told', async () => {
  const { store, clock } = setUp();
  await store.ready();
  store.down();
  const inVain = store.ready(100);
  const rejected = expect(inVain).rejects.toMatchObject({ kind: 'unavailable' });
  await clock.pass(100);
  await rejected;
  const ready = store.ready(100);
  store.freeze();
  store.down();
  store.up();
  await ready;
  expect(clock.timers).toBe(0);
});

import { concurrency, type Decision, type Lease, type LimiterOptions, memoryStore, slidingWindow } from 'comporta';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { admits, type Call, scripted, unavailable } from './scripted-store.js';

const LEASE_MS = 12_000;
const places = (limit: number, lease = LEASE_MS) => concurrency({ limit, lease });

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(async () => {
  await flush();
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toEqual([]);
});

/** A lease over a store whose answers are in the test's hand. */
async function leased(options: Partial<LimiterOptions> = {}) {
  const parts = scripted({ limits: places(3), ...options });
  const { limiter, store, clock } = parts;
  const asking = limiter.acquire('s');
  store.call(0).resolve(admits());
  const lease = await asking;
  const startMs = clock.nowUs() / 1000;
  const asked = (): string[] =>
    store.calls.slice(1).map(({ operation, given }) => {
      const [action] = given as [{ readonly kind?: string }];
      return operation === 'act' ? String(action.kind) : operation;
    });
  const sinceStart = (): number => clock.nowUs() / 1000 - startMs;
  return { ...parts, lease, asked, sinceStart };
}

/** A limiter over memory, which answers at once. */
function inMemory(options: Omit<LimiterOptions, 'policy'>) {
  const clock = new FakeClock();
  const limiter = wire({ policy: 'api', store: memoryStore({ clock }), ...options }, clock);
  const left = async (subject = 's') => (await limiter.peek(subject, { cost: 0 })).limits[0]?.remaining;
  return { clock, limiter, left };
}

const did = (call: Call, word: number): void => call.resolve({ atUs: 1_000_000, numbers: [], word });

describe('a lease', () => {
  test('is renewed four times in its time, each time by the id of its decision', async () => {
    const { clock, store, asked, lease, sinceStart } = await leased();
    for (const round of [1, 2, 3, 4, 5]) {
      await clock.pass(LEASE_MS / 4);
      expect([asked().length, sinceStart()]).toEqual([round, (round * LEASE_MS) / 4]);
      expect(store.call(-1).given).toEqual([{ kind: 'renew', subject: 's', cost: 0, id: lease.decision.id }]);
      did(store.call(-1), 1);
      await flush();
    }
    expect(lease.signal.aborted).toBe(false);
  });

  test('outlives two renewals that fail, and the third still comes before its end', async () => {
    const { clock, store, asked, lease, sinceStart } = await leased();
    for (const round of [1, 2]) {
      await clock.pass(LEASE_MS / 4);
      expect(asked().length).toBe(round);
      store.call(-1).reject(unavailable());
      await flush();
    }
    await clock.pass(LEASE_MS / 4);
    expect(asked()).toEqual(['renew', 'renew', 'renew']);
    expect(sinceStart()).toBeLessThan(LEASE_MS);
    did(store.call(-1), 1);
    await flush();
    expect(lease.signal.aborted).toBe(false);
  });

  test('is kept while the store does not answer, and lost when the store says that others took it', async () => {
    const { clock, store, asked, lease } = await leased();
    await clock.pass(10 * LEASE_MS);
    expect(lease.signal.aborted).toBe(false);
    const renewals = asked().length;
    expect(renewals).toBeGreaterThanOrEqual(30);
    expect(clock.timers).toBe(1);
    while (asked().length === renewals) await clock.pass(10);
    did(store.call(-1), 0);
    await flush();
    expect(lease.signal.aborted).toBe(true);
    expect(lease.signal.reason).toMatchObject({ message: expect.stringContaining('lost') });
    expect(asked().slice(renewals)).toEqual(['renew', 'release']);
    did(store.call(-1), 0);
    await flush();
    await lease.release();
    await clock.pass(10 * LEASE_MS);
    expect([asked().length, clock.timers]).toEqual([renewals + 2, 0]);
  });

  test('of two limits is lost with either of them, and frees the other', async () => {
    const limits = [concurrency({ id: 'a', limit: 3, lease: '1m' }), concurrency({ id: 'b', limit: 3, lease: 8000 })];
    const parts = scripted({ limits });
    const asking = parts.limiter.acquire('s');
    parts.store.call(0).resolve(admits(5, 2));
    const lease = await asking;
    await parts.clock.pass(2000);
    did(parts.store.call(1), 1);
    await flush();
    expect(lease.signal.aborted).toBe(true);
    expect(parts.store.call(2).given).toMatchObject([{ kind: 'release' }]);
  });

  test('that is released asks once, renews no more, and waits for a renewal under way', async () => {
    const { clock, store, asked, lease } = await leased();
    await clock.pass(LEASE_MS / 4);
    const both = [lease.release(), lease.release(), lease[Symbol.asyncDispose]()];
    await flush();
    expect(asked(), 'a renewal that overtakes the release would take the place again').toEqual(['renew']);
    did(store.call(-1), 1);
    await flush();
    expect(asked()).toEqual(['renew', 'release']);
    did(store.call(-1), 1);
    await Promise.all(both);
    await clock.pass(10 * LEASE_MS);
    expect([asked().length, clock.timers, lease.signal.aborted]).toEqual([2, 0, false]);
  });

  test('can be released while the store is away', async () => {
    const { clock, store, lease } = await leased();
    const released = lease.release();
    await flush();
    store.call(-1).reject(unavailable());
    await released;
    expect(clock.timers).toBe(1);
    const asked = store.calls.length;
    while (store.calls.length === asked) await clock.pass(10);
    expect(store.call(-1).given).toMatchObject([{ kind: 'release' }]);
    did(store.call(-1), 1);
    await flush();
    expect(clock.timers).toBe(0);
  });

  test('ends with its limiter, which frees all of them', async () => {
    const { clock, limiter, left } = inMemory({ limits: places(5) });
    const store = memoryStore({ clock });
    const [one, other] = [1, 2].map(() => wire({ policy: 'api', store, limits: places(5) }, clock));
    await Promise.all([one?.acquire('s'), one?.acquire('s'), other?.acquire('s'), limiter.acquire('s')]);
    await one?.close();
    expect((await other?.peek('s', { cost: 0 }))?.limits[0]?.remaining).toBe(4);
    expect(() => one?.hold({} as Decision)).toThrow(/closed/);
    await other?.close();
    expect([clock.timers, await left()]).toEqual([1, 4]);
    await limiter.close();
    expect(clock.timers).toBe(0);
  });

  test('keeps its place over any time in memory, and one that nobody holds ends by itself', async () => {
    const { clock, limiter, left } = inMemory({ limits: places(2) });
    await limiter.acquire('s');
    await limiter.consume('s');
    expect(await left()).toBe(0);
    await clock.pass(LEASE_MS - 1);
    expect(await left()).toBe(0);
    await clock.pass(1);
    expect(await left()).toBe(1);
    await clock.pass(20 * LEASE_MS);
    expect(await left()).toBe(1);
    await limiter.close();
  });
});

describe('nothing is held', () => {
  test.each([
    ['after a refusal', (lease: Lease) => !lease.allowed],
    ['by a look', (lease: Lease) => lease.allowed && lease.decision.cost === 0],
  ])('%s', async (name, isSo) => {
    const { clock, limiter, left } = inMemory({ limits: places(1) });
    const first = name === 'by a look' ? undefined : await limiter.consume('s');
    const lease = await limiter.acquire('s', name === 'by a look' ? { cost: 0 } : {});
    expect([isSo(lease), lease.holds, clock.timers]).toEqual([true, false, 0]);
    await clock.pass(3 * LEASE_MS);
    expect(await left()).toBe(1);
    await lease.release();
    if (first !== undefined) await limiter.refund(first);
  });

  test('where the store is away and everything passes', async () => {
    const { clock, limiter, store } = scripted({ limits: places(1), onStoreFailure: 'open' });
    store.throws = unavailable();
    const lease = await limiter.acquire('s');
    expect([lease.allowed, lease.holds, lease.decision.degraded?.mode, clock.timers]).toEqual([true, false, 'open', 0]);
    await lease.release();
  });

  test('by a policy without such limits', async () => {
    const { clock, limiter } = inMemory({ limits: slidingWindow({ limit: 1, window: '1s' }) });
    const lease = await limiter.acquire('s');
    expect([lease.allowed, lease.holds, clock.timers]).toEqual([true, false, 0]);
    await lease.release();
  });
});

describe('a question that was given up', () => {
  test.each(['closed', 'open'] as const)('gives back the place that it may have taken, in mode %s', async (mode) => {
    const { limiter, store, clock } = scripted({ limits: places(1), onStoreFailure: mode });
    const asking = limiter.acquire('s');
    await clock.pass(50);
    const { allowed, decision } = await asking;
    expect([allowed, decision.degraded?.cause]).toEqual([mode === 'open', 'timeout']);
    expect(store.calls.length).toBe(2);
    expect(store.call(1).given).toEqual([{ kind: 'release', subject: 's', cost: 0, id: decision.id }]);
    // Nor does it answer that; so it is asked again.
    while (store.calls.length === 2) await clock.pass(10);
    expect(store.call(2).given).toEqual(store.call(1).given);
    did(store.call(2), 1);
    await flush();
    expect(clock.timers).toBe(0);
  });

  test('keeps it where it was given here, to be found there under the same id', async () => {
    const { limiter, store, clock } = scripted({ limits: places(1), onStoreFailure: 'local' });
    const asking = limiter.acquire('s');
    await clock.pass(50);
    const lease = await asking;
    expect([lease.allowed, store.calls.length]).toEqual([true, 1]);
    await clock.pass(LEASE_MS / 4);
    expect(store.call(1).given).toMatchObject([{ kind: 'renew', id: lease.decision.id }]);
    did(store.call(1), 1);
    await flush();
    await Promise.all([lease.release(), flush().then(() => did(store.call(2), 1))]);
  });

  test('asks for nothing where there are no places, and after a look', async () => {
    const window = scripted({ limits: slidingWindow({ limit: 1, window: '1s' }), onStoreFailure: 'closed' });
    const look = scripted({ limits: places(1), onStoreFailure: 'closed' });
    const asking = [window.limiter.consume('s'), look.limiter.peek('s')];
    await window.clock.pass(50);
    await look.clock.pass(50);
    await Promise.all(asking);
    expect([window.store.calls.length, look.store.calls.length]).toEqual([1, 1]);
  });
});

describe('a decision', () => {
  test('that is held twice has one lease', async () => {
    const { limiter, left } = inMemory({ limits: places(1) });
    const decision = await limiter.consume('s');
    const lease = limiter.hold(decision);
    expect([limiter.hold(decision), lease.holds]).toEqual([lease, true]);
    await lease.release();
    expect(lease.holds).toBe(false);
    expect(await left()).toBe(1);
  });

  test('that is refunded ends its lease, which would take the place again', async () => {
    const { clock, limiter, left } = inMemory({ limits: places(1) });
    const lease = await limiter.acquire('s');
    expect(await limiter.refund(lease.decision)).toBe(true);
    await clock.pass(3 * LEASE_MS);
    expect([await left(), clock.timers]).toEqual([1, 0]);
  });

  test('that is settled ends its lease as well', async () => {
    const { clock, limiter, left } = inMemory({ limits: [places(1), slidingWindow({ limit: 9, window: '1h' })] });
    const reservation = await limiter.reserve('s', { cost: 5 });
    limiter.hold(reservation);
    expect((await limiter.settle(reservation, 2)).settled).toBe(true);
    await clock.pass(3 * LEASE_MS);
    expect([await left(), clock.timers]).toEqual([1, 0]);
  });
});

describe('a place that was given while the store was away', () => {
  /** The store is away when the lease is acquired. */
  async function local() {
    const parts = scripted({ limits: places(1), onStoreFailure: 'local' });
    parts.store.throws = unavailable();
    const lease = await parts.limiter.acquire('s');
    expect([lease.allowed, lease.decision.degraded?.mode]).toEqual([true, 'local']);
    expect((await parts.limiter.acquire('s')).allowed).toBe(false);
    return { ...parts, lease };
  }

  test('is renewed here until the store is back, and then there', async () => {
    const { clock, store, lease, limiter } = await local();
    await clock.pass(5 * LEASE_MS);
    expect([lease.signal.aborted, (await limiter.acquire('s')).allowed]).toEqual([false, false]);
    store.throws = undefined;
    await clock.pass(LEASE_MS / 4);
    expect(store.call(-1).given).toMatchObject([{ kind: 'renew', id: lease.decision.id }]);
    did(store.call(-1), 1);
    await flush();
    const released = lease.release();
    await flush();
    expect(store.call(-1).given).toMatchObject([{ kind: 'release', id: lease.decision.id }]);
    did(store.call(-1), 1);
    await released;
    store.throws = unavailable();
    expect((await limiter.acquire('s')).allowed, 'the place here was left').toBe(true);
    await limiter.close();
    expect(clock.timers).toBe(0);
  });

  test('is lost where the store has no room for it', async () => {
    const { clock, store, lease } = await local();
    store.throws = undefined;
    await clock.pass(LEASE_MS / 4);
    did(store.call(-1), 0);
    await flush();
    expect(lease.signal.aborted).toBe(true);
  });

  test('is freed here alone when the store never came back', async () => {
    const { clock, store, lease, limiter } = await local();
    await lease.release();
    expect([store.calls.length, clock.timers]).toEqual([0, 0]);
    expect((await limiter.acquire('s')).allowed).toBe(true);
    await limiter.close();
  });
});

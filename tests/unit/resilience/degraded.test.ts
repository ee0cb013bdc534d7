import { type DegradedCause, type FailureMode, type LimiterOptions, StoreError, slidingWindow } from 'comporta';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { flush } from '../../support/fake-clock.js';
import { admits, refuses, scripted, unavailable } from '../limiter/scripted-store.js';

const limits = slidingWindow({ limit: 2, window: '1s' });
const with_ = (onStoreFailure: FailureMode, more: Partial<LimiterOptions> = {}) =>
  scripted({ limits, onStoreFailure, ...more });
type Scripted = ReturnType<typeof scripted>;

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(async () => {
  await flush();
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toEqual([]);
});

/** Every way in which a store can fail a call that is under way, and what it is called. */
const FAILURES: readonly [string, DegradedCause, (parts: Scripted, abort: AbortController) => void][] = [
  ['it says nothing', 'timeout', ({ clock }) => clock.advance(50)],
  ['it cannot be reached', 'unavailable', ({ store }) => store.call(-1).reject(unavailable())],
  [
    'it may not run scripts',
    'misconfigured',
    ({ store }) => store.call(-1).reject(new StoreError('misconfigured', 'x')),
  ],
  ['it fails by a fault of its own', 'unavailable', ({ store }) => store.call(-1).reject(new TypeError('x'))],
  ['it rejects with no error', 'unavailable', ({ store }) => store.call(-1).reject('x')],
  ['the caller gives up', 'aborted', (_, abort) => abort.abort()],
];

async function fail(parts: Scripted, failure: (typeof FAILURES)[number]) {
  const abort = new AbortController();
  const answer = parts.limiter.consume('s', { signal: abort.signal });
  failure[2](parts, abort);
  return answer;
}

describe.each(FAILURES)('when %s', (...failure) => {
  const cause = failure[1];

  test('mode local decides in memory, keeps the limit and says so', async () => {
    const parts = with_('local');
    const decisions = [await fail(parts, failure), await fail(parts, failure), await fail(parts, failure)];
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(decisions.map(({ degraded }) => [degraded?.mode, degraded?.cause])).toEqual(
      decisions.map(() => ['local', cause]),
    );
    expect(decisions[2]).toMatchObject({ reason: 'limit-exceeded', binding: { remaining: 0, limit: 2 } });
    expect(decisions[2]?.retryAfterMs).toBeGreaterThan(0);
  });

  test('mode open admits without counting and without naming a quota', async () => {
    const parts = with_('open');
    for (let i = 0; i < 5; i++) {
      expect(await fail(parts, failure)).toMatchObject({
        allowed: true,
        reason: undefined,
        limits: [],
        binding: undefined,
        retryAfterMs: 0,
        atUs: 0,
        degraded: { mode: 'open', cause },
      });
    }
  });

  test('mode closed refuses for want of a store, not for the limit', async () => {
    expect(await fail(with_('closed'), failure)).toMatchObject({
      allowed: false,
      reason: 'store-unavailable',
      limits: [],
      binding: undefined,
      retryAfterMs: null,
      degraded: { mode: 'closed', cause },
    });
  });
});

test('the store’s own words are kept for logs', async () => {
  const parts = with_('open');
  const answer = parts.limiter.consume('s');
  parts.store.call(0).reject(unavailable());
  expect((await answer).degraded?.detail).toBe('connect ECONNREFUSED 10.9.8.7:6379');
});

describe('a denial by the store', () => {
  test('is final: nothing local is asked, in any mode', async () => {
    for (const mode of ['local', 'open', 'closed'] as const) {
      const { limiter, store } = with_(mode);
      for (let i = 0; i < 3; i++) {
        const answer = limiter.consume('s');
        store.call(i).resolve(refuses(700));
        expect(await answer).toMatchObject({
          allowed: false,
          reason: 'limit-exceeded',
          retryAfterMs: 700,
          degraded: undefined,
        });
      }
    }
  });

  test('is remembered: an outage after it begins with what the store had left', async () => {
    const { limiter, store } = with_('local');
    for (let i = 0; i < 5; i++) {
      void limiter.consume('s');
      store.call(i).resolve(refuses(700));
    }
    await flush();
    store.throws = unavailable();
    const decisions = [await limiter.consume('s'), await limiter.consume('s'), await limiter.consume('s')];
    expect(decisions.map(({ allowed }) => allowed)).toEqual([false, false, false]);
  });

  test('by a cost that can never fit is final too', async () => {
    const { limiter, store } = with_('local');
    const answer = limiter.consume('s', { cost: 3 });
    store.call(0).resolve(refuses(-1));
    expect(await answer).toMatchObject({ reason: 'cost-exceeds-limit', retryAfterMs: null, degraded: undefined });
  });
});

test('what the store admitted is not counted locally', async () => {
  const { limiter, store } = with_('local');
  for (let i = 0; i < 5; i++) {
    void limiter.consume('s');
    store.call(i).resolve(admits());
  }
  await flush();
  store.throws = unavailable();
  expect(await limiter.consume('s')).toMatchObject({ allowed: true, binding: { remaining: 1 } });
});

describe('a store that throws without a promise', () => {
  test.each<[FailureMode, boolean]>([
    ['local', true],
    ['open', true],
    ['closed', false],
  ])('is a failure like any other (%s)', async (mode, allowed) => {
    const { clock, limiter, store } = with_(mode);
    store.throws = new TypeError('no such method');
    expect(limiter.decide('s')).toMatchObject({ allowed, degraded: { mode, cause: 'unavailable' } });
    expect(await limiter.peek('s')).toMatchObject({ allowed, degraded: { mode, cause: 'unavailable' } });
    expect(clock.timers).toBe(0);
  });
});

test('a look while degraded charges nothing locally', async () => {
  const { limiter, store } = with_('local');
  store.throws = unavailable();
  for (let i = 0; i < 10; i++) expect((await limiter.peek('s')).allowed).toBe(true);
  for (let i = 0; i < 10; i++) expect((await limiter.consume('s', { cost: 0 })).allowed).toBe(true);
  expect((await limiter.consume('s', { cost: 2 })).allowed).toBe(true);
  expect(await limiter.peek('s')).toMatchObject({ allowed: false, degraded: { mode: 'local' } });
});

describe('a reset', () => {
  test('rejects with the store’s failure, within the time limit', async () => {
    const { clock, limiter, store } = with_('local');
    const late = limiter.reset('s');
    const refused = limiter.reset('s');
    store.call(1).reject(unavailable());
    await expect(refused).rejects.toMatchObject({ name: 'StoreError', kind: 'unavailable' });
    clock.advance(50);
    await expect(late).rejects.toMatchObject({ name: 'StoreError', kind: 'timeout' });
    expect(store.call(0).waiter.isOver).toBe(true);
    store.call(0).resolve(1);
  });

  test('forgets what was counted locally, whatever the store says', async () => {
    const { limiter, store } = with_('local');
    store.throws = unavailable();
    await limiter.consume('s', { cost: 2 });
    expect((await limiter.consume('s')).allowed).toBe(false);
    await expect(limiter.reset('s')).rejects.toMatchObject({ kind: 'unavailable' });
    expect((await limiter.consume('s')).allowed).toBe(true);
  });

  test('says how many keys the store removed', async () => {
    const { limiter, store } = with_('local');
    const answer = limiter.reset('s');
    store.call(0).resolve(3);
    expect(await answer).toEqual({ keysRemoved: 3 });
  });
});

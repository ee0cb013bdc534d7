import { createLimiter, memoryStore, slidingWindow } from 'comporta';
import { comportaStore as expressStore } from 'comporta/express-rate-limit';
import { comportaStore as honoStore } from 'comporta/hono-rate-limiter';
import { FakeClock } from 'comporta/testing';
import { describe, expect, test } from 'vitest';
import { nowMs, started, WINDOW_MS } from './started.js';

describe.each([
  ['express-rate-limit', expressStore],
  ['hono-rate-limiter', honoStore as unknown as typeof expressStore],
])('the store for %s', (name, make) => {
  test('counts up to the limit, and answers one more than that for whatever is refused', async () => {
    const { hits } = started({}, {}, make);
    expect(await hits('a', 6)).toEqual([1, 2, 3, 4, 4, 4]);
    expect(await hits('b', 1), 'other keys count by themselves').toEqual([1]);
  });

  test('a refused hit costs nothing, and its reset time is when the next is admitted', async () => {
    const { clock, store, hits } = started({}, {}, make);
    await hits('a', 1);
    clock.advance(20_000);
    await hits('a', 2);
    clock.advance(10_000);
    const refused = await store.increment('a');
    expect(refused.totalHits).toBe(4);
    expect(refused.resetTime.getTime()).toBe(nowMs(clock) + 30_000);
    clock.advance(29_999);
    expect((await store.increment('a')).totalHits).toBe(4);
    clock.advance(1);
    expect((await store.increment('a')).totalHits).toBe(3);
  });

  test('an admitted hit tells when the whole limit is back', async () => {
    const { clock, store } = started({}, {}, make);
    expect((await store.increment('a')).resetTime.getTime()).toBe(nowMs(clock) + WINDOW_MS);
  });

  test('get tells the hits without counting, and of unknown keys nothing', async () => {
    const { clock, store, hits } = started({}, {}, make);
    expect(await store.get('a')).toBeUndefined();
    await hits('a', 2);
    clock.advance(1000);
    const seen = await store.get('a');
    expect([seen?.totalHits, seen?.resetTime.getTime()]).toEqual([2, nowMs(clock) + WINDOW_MS - 1000]);
    expect(await hits('a', 1)).toEqual([3]);
  });

  test('resetKey forgets one key, and resetAll all of them', async () => {
    const { store, hits } = started({}, {}, make);
    await hits('a', 3);
    await hits('b', 3);
    await store.resetKey('a');
    expect([await hits('a', 1), await hits('b', 1)]).toEqual([[1], [4]]);
    await store.resetAll?.();
    expect(await hits('b', 1)).toEqual([1]);
  });

  test('nobody else counts in a memory store of its own, and in a store that was passed in everybody may', () => {
    const own = make();
    expect([own.localKeys, own.prefix, typeof own.resetAll]).toEqual([true, `${name}:`, 'function']);
    const shared = make({ store: memoryStore(), name: 'api' });
    expect([shared.localKeys, shared.prefix, shared.resetAll]).toEqual([false, 'api:', undefined]);
  });

  test('a limit that is a function counts every hit, the refused too, in windows that begin with one', async () => {
    const { clock, store, hits } = started({}, { limit: () => 3 }, make);
    expect(await hits('a', 5)).toEqual([1, 2, 3, 4, 5]);
    clock.advance(15_000);
    expect((await store.increment('a')).resetTime.getTime()).toBe(nowMs(clock) + 45_000);
    clock.advance(45_000);
    expect(await hits('a', 1)).toEqual([1]);
  });

  test('decrement gives back exactly one hit where failed requests are skipped', async () => {
    const { store, hits } = started({}, { skipFailedRequests: true }, make);
    await hits('a', 3);
    await store.decrement('a');
    expect((await store.get('a'))?.totalHits).toBe(2);
    await store.decrement('a');
    await store.decrement('a');
    await store.decrement('a');
    await store.decrement('a');
    expect(await hits('a', 4), 'and never more than there were').toEqual([1, 2, 3, 4]);
  });

  test('a login that succeeds is given back, however often the same key was refused before', async () => {
    const { clock, store, hits } = started({}, { skipSuccessfulRequests: true }, make);
    expect(await hits('a', 10)).toEqual([1, 2, 3, 4, 4, 4, 4, 4, 4, 4]);
    clock.advance(WINDOW_MS + 1);
    expect(await hits('a', 1)).toEqual([1]);
    await store.decrement('a');
    expect(await store.get('a')).toBeUndefined();
  });

  test('many that are under way at once are all given back', async () => {
    const { store, hits } = started({}, { limit: 1000, skipFailedRequests: true }, make);
    await hits('a', 300);
    for (let i = 0; i < 300; i++) await store.decrement('a');
    expect(await store.get('a')).toBeUndefined();
  });

  test('what is given back is the oldest, so that no window ever has more than the limit', async () => {
    const { clock, store, hits } = started({}, { limit: 2, skipFailedRequests: true }, make);
    await hits('a', 1);
    clock.advance(50_000);
    await hits('a', 1);
    await store.decrement('a');
    expect(await hits('a', 2)).toEqual([2, 3]);
    clock.advance(10_000);
    // The one of second 50 succeeded, whichever of the two failed: with that of second 50 too, these are two.
    expect(await hits('a', 1)).toEqual([3]);
  });

  test('where no requests are skipped, decrement by hand takes the newest hit of anybody', async () => {
    const shared = memoryStore();
    const [one, other] = [0, 1].map(() => started({ store: shared, name: 'api' }, {}, make));
    await one?.hits('a', 2);
    await other?.store.decrement('a');
    expect(await one?.hits('a', 1)).toEqual([2]);
  });

  test('stores of one name share their counts, and of different names they never do', async () => {
    const clock = new FakeClock();
    const store = memoryStore({ clock });
    const [a, b, c] = ['api', 'api', 'login'].map((policy) => started({ store, name: policy, clock }, {}, make));
    await a?.hits('a', 2);
    expect([await b?.hits('a', 1), await c?.hits('a', 1)]).toEqual([[3], [1]]);
  });

  test('a limiter of the same policy counts the same', async () => {
    const clock = new FakeClock();
    const store = memoryStore({ clock });
    const { hits } = started({ store, name: 'api', clock }, {}, make);
    await hits('a', 2);
    const limits = slidingWindow({ limit: 3, window: WINDOW_MS, id: '60000ms' });
    const limiter = createLimiter({ policy: 'api', limits, store });
    expect((await limiter.peek('a')).binding?.remaining).toBe(1);
  });

  test('other algorithms count by their own rules', async () => {
    const bucket = started({ algorithm: 'tokenBucket' }, {}, make);
    expect(await bucket.hits('a', 4)).toEqual([1, 2, 3, 4]);
    bucket.clock.advance(WINDOW_MS / 3);
    expect(await bucket.hits('a', 2), 'one token in a third of the window').toEqual([3, 4]);
    const fixed = started({ algorithm: 'fixedWindow' }, {}, make);
    await fixed.hits('a', 1);
    fixed.clock.advance(WINDOW_MS - 1);
    expect(await fixed.hits('a', 3)).toEqual([2, 3, 4]);
    fixed.clock.advance(1);
    expect(await fixed.hits('a', 1)).toEqual([1]);
  });

  test('a limit of 0 admits nothing, and an infinite one everything', async () => {
    const none = started({}, { limit: 0 }, make);
    expect((await none.store.increment('a')).totalHits).toBe(1);
    expect((await none.store.increment('a')).resetTime.getTime()).toBe(nowMs(none.clock) + WINDOW_MS);
    expect(await started({}, { limit: Number.POSITIVE_INFINITY }, make).hits('a', 2)).toEqual([1, 2]);
  });

  test('keys that say nothing are counted together, and never let through', async () => {
    const { hits } = started({}, {}, make);
    await hits(undefined as unknown as string, 2);
    expect(await hits('', 2)).toEqual([3, 4]);
  });

  test('options that cannot be meant are refused by name when the store is made', () => {
    const field = (options: object): string => {
      try {
        make(options);
        return 'nothing';
      } catch (error) {
        return (error as { field: string }).field;
      }
    };
    expect(field({ prefix: 'a' })).toBe('prefix');
    expect(field({ store: memoryStore() })).toBe('name');
    expect(field({ store: 'redis://127.0.0.1', name: 'a' })).toBe('store');
    expect(field({ name: 'a b' })).toBe('policy');
    expect(field({ algorithm: 'gcra' })).toBe('algorithm');
    expect(field({ timeoutMs: 0 })).toBe('timeoutMs');
    expect(field({ onStoreFailure: 'fail' })).toBe('onStoreFailure');
    expect(field({ onEvent: 1 })).toBe('onEvent');
    expect(field({ onStoreFailure: 'open', instances: 3 })).toBe('instances');
    expect(() => make(null as unknown as object)).toThrow('options: expected');
  });

  test('a short window takes nothing from a long one of the same name', async () => {
    const clock = new FakeClock();
    const store = memoryStore({ clock });
    for (const algorithm of ['slidingWindow', 'slidingWindowCounter', 'fixedWindow', 'tokenBucket'] as const) {
      const [long, short] = [WINDOW_MS, 100].map((windowMs) =>
        started({ store, name: algorithm, clock, algorithm }, { windowMs }, make),
      );
      expect(await long?.hits('a', 3)).toEqual([1, 2, 3]);
      clock.advance(500);
      expect(await short?.hits('a', 1)).toEqual([1]);
      expect(await long?.hits('a', 1), algorithm).toEqual([4]);
    }
  });
});

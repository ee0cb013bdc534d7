import { memoryStore } from 'comporta';
import { type ComportaStore, comportaStore } from 'comporta/fastify-rate-limit';
import { FakeClock, faultyStore } from 'comporta/testing';
import { expect, test } from 'vitest';

const WINDOW_MS = 60_000;

interface Current {
  readonly current: number;
  readonly ttl: number;
}

const call = (store: ComportaStore, method: 'incr' | 'read', key: string, max = 3, windowMs = WINDOW_MS) =>
  new Promise<Current>((resolve, reject) => {
    store[method](key, (error, result) => (error ? reject(error) : resolve(result as Current)), windowMs, max);
  });

async function hits(store: ComportaStore, key: string, times: number, max = 3): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push((await call(store, 'incr', key, max)).current);
  return all;
}

function started(plugin: object = {}, given: Parameters<typeof comportaStore>[0] = {}) {
  const clock = new FakeClock();
  const Store = comportaStore({ clock, ...given });
  return { clock, Store, store: new Store(plugin) };
}

const route = (url: string, method = 'GET', more: object = {}): object => ({ routeInfo: { method, url }, ...more });

test('counts up to the maximum that comes with the call; what is refused costs nothing', async () => {
  const { clock, store } = started();
  expect(await hits(store, 'a', 5)).toEqual([1, 2, 3, 4, 4]);
  clock.advance(10_000);
  expect(await call(store, 'incr', 'a')).toEqual({ current: 4, ttl: 50_000 });
  clock.advance(50_000);
  expect(await call(store, 'incr', 'a')).toEqual({ current: 1, ttl: WINDOW_MS });
});

test('a maximum that changes between calls keeps what was used', async () => {
  const { store } = started();
  expect(await hits(store, 'a', 3)).toEqual([1, 2, 3]);
  expect(await hits(store, 'a', 1, 10), 'raised').toEqual([4]);
  expect(await hits(store, 'a', 1, 2), 'lowered').toEqual([3]);
});

test('ever new maximums of a function do not grow memory without bound', async () => {
  const { store } = started();
  for (let max = 1; max <= 1500; max++) expect(await hits(store, 'a', 1, max)).toEqual([max]);
  expect(await hits(store, 'a', 1, 1500)).toEqual([1501]);
});

test('read tells the count without counting', async () => {
  const { store } = started();
  expect(await call(store, 'read', 'a')).toEqual({ current: 0, ttl: 0 });
  await hits(store, 'a', 2);
  expect(await call(store, 'read', 'a')).toEqual({ current: 2, ttl: WINDOW_MS });
  expect(await hits(store, 'a', 1)).toEqual([3]);
});

test('routes with limits of their own count by themselves, in every process the same', async () => {
  const { Store, store } = started();
  const [one, other] = [store.child(route('/one')), store.child(route('/other'))];
  await hits(one, 'a', 3);
  expect([await hits(other, 'a', 1), await hits(store, 'a', 1)]).toEqual([[1], [1]]);
  expect(await hits(store.child(route('/one', 'POST')), 'a', 1)).toEqual([1]);
  expect(await hits(new Store({}).child(route('/one')), 'a', 1)).toEqual([4]);
});

test('routes of one group count together', async () => {
  const { store } = started();
  const [send, resend] = ['/send', '/resend'].map((url) => store.child(route(url, 'POST', { groupId: 'OTP' })));
  await hits(send as ComportaStore, 'aOTP', 2);
  expect(await hits(resend as ComportaStore, 'aOTP', 2)).toEqual([3, 4]);
});

test('limits that belong to no route are told apart by their order', async () => {
  const { store } = started();
  const [first, second] = [store.child({ routeInfo: {} }), store.child({ routeInfo: {} })];
  await hits(first, 'a', 3);
  expect(await hits(second, 'a', 1)).toEqual([1]);
});

test('a ban counts the refusals of the last window', async () => {
  const { clock, store } = started({ ban: 2 });
  // The plugin bans where current - max > ban.
  expect(await hits(store, 'a', 7)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(await call(store, 'read', 'a')).toMatchObject({ current: 6 });
  clock.advance(WINDOW_MS);
  expect(await call(store, 'read', 'a')).toMatchObject({ current: 0 });
  expect(await hits(store, 'a', 4)).toEqual([1, 2, 3, 4]);
});

test('a ban of 0 bans with the first refusal', async () => {
  const { store } = started({ ban: 0 });
  expect(await hits(store, 'a', 4)).toEqual([1, 2, 3, 4]);
  expect((await call(store, 'incr', 'a')).current).toBeGreaterThan(3);
});

test('refusals that are counted for a ban are told once, as refusals of the limit', async () => {
  const told: string[] = [];
  const onEvent: NonNullable<Parameters<typeof comportaStore>[0]>['onEvent'] = (name, event) => {
    if (name === 'denied' && 'shadow' in event) told.push(`${event.policy} ${event.shadow}`);
  };
  const { store } = started({ ban: 0 }, { onEvent });
  await hits(store, 'a', 5);
  expect(told.filter((words) => words.endsWith('false'))).toEqual([
    'fastify-rate-limit false',
    'fastify-rate-limit false',
  ]);
});

test('with continueExceeding a refused client is let in a whole window after it last asked', async () => {
  const { clock, store } = started({ continueExceeding: true });
  await hits(store, 'a', 3);
  clock.advance(50_000);
  expect(await call(store, 'incr', 'a')).toEqual({ current: 4, ttl: WINDOW_MS });
  clock.advance(50_000);
  expect(await call(store, 'incr', 'a'), 'the window is over, the block is not').toEqual({
    current: 4,
    ttl: WINDOW_MS,
  });
  clock.advance(WINDOW_MS - 1);
  expect(await call(store, 'read', 'a')).toEqual({ current: 4, ttl: 1 });
  clock.advance(1);
  expect(await call(store, 'incr', 'a')).toEqual({ current: 1, ttl: WINDOW_MS });
});

test('exponentialBackoff is refused when the plugin starts, unless continueExceeding overrides it anyway', () => {
  const { Store, store } = started();
  expect(() => new Store({ exponentialBackoff: true })).toThrow('exponentialBackoff: not kept by this store');
  expect(() => store.child(route('/', 'GET', { exponentialBackoff: true }))).toThrow('exponentialBackoff');
  expect(() => new Store({ exponentialBackoff: true, continueExceeding: true })).not.toThrow();
});

test('a maximum that cannot be counted exactly is refused when the plugin starts', () => {
  const { Store } = started();
  expect(() => new Store({ max: 2_000_000, timeWindow: WINDOW_MS })).toThrow('slidingWindow.limit');
});

test('what a function gives may be text, and nothing is let through by what cannot be meant', async () => {
  const { store } = started();
  const text = (value: unknown): number => value as number;
  for (const current of [1, 2, 3]) expect(await call(store, 'incr', 'a', text('2'))).toMatchObject({ current });
  for (const max of [Number.NaN, -1, 1.5, text('many')]) {
    await expect(call(store, 'incr', 'b', max)).rejects.toThrow('max: expected a whole number');
    await expect(call(store, 'read', 'b', max)).rejects.toThrow('max: expected a whole number');
  }
  for (const windowMs of [Number.NaN, 0, -1]) {
    await expect(call(store, 'incr', 'b', 3, windowMs)).rejects.toThrow('timeWindow: expected a number of ms above 0');
  }
});

test('a window of 0 is refused when the plugin starts', () => {
  const { Store } = started();
  expect(() => new Store({ max: 3, timeWindow: 0 })).toThrow('timeWindow: expected a number of ms above 0');
});

test('a short window from a function takes nothing from the count of a long one', async () => {
  const { clock, store } = started();
  await hits(store, 'a', 3);
  clock.advance(500);
  expect(await call(store, 'incr', 'a', 10, 100)).toMatchObject({ current: 1 });
  expect(await hits(store, 'a', 1)).toEqual([4]);
});

test('in mode closed the plugin is handed an error, in the others a count', async () => {
  for (const [onStoreFailure, expected] of [
    ['closed', 'error'],
    ['open', 1],
    ['local', 3],
  ] as const) {
    const clock = new FakeClock();
    const faulty = faultyStore({ clock });
    const { store } = started({}, { store: faulty, name: 'api', clock, onStoreFailure });
    await hits(store, 'a', 2);
    faulty.down();
    const answer = await call(store, 'incr', 'a').then(
      ({ current }) => current,
      () => 'error',
    );
    expect(answer, onStoreFailure).toBe(expected);
  }
});

test('closing ends all that were made, and leaves a store that was passed in open', async () => {
  const shared = memoryStore();
  const { Store, store } = started({}, { store: shared, name: 'api' });
  await hits(store, 'a', 3);
  await Store.close();
  const again = started({}, { store: shared, name: 'api' });
  expect(await hits(again.store, 'a', 1)).toEqual([4]);
});

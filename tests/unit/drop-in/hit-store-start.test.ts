import { comportaStore as expressStore } from 'comporta/express-rate-limit';
import { comportaStore as honoStore } from 'comporta/hono-rate-limiter';
import { describe, expect, test } from 'vitest';
import { started, WINDOW_MS } from './started.js';

describe.each([
  ['express-rate-limit', expressStore],
  ['hono-rate-limiter', honoStore as unknown as typeof expressStore],
])('the start of the store for %s', (_, make) => {
  test.each([
    [{ limit: 1_000_001 }, 'slidingWindow.limit'],
    [{ limit: Number.NaN }, 'limit: expected a whole number'],
    [{ limit: -1 }, 'limit: expected a whole number'],
    [{ limit: 1.5 }, 'limit: expected a whole number'],
    [{ limit: '' }, 'limit: expected a whole number'],
    [{ limit: 'many' }, 'limit: expected a whole number'],
    [{ limit: undefined }, 'limit: expected a whole number'],
    [{ windowMs: Number.NaN }, 'windowMs: expected a number of ms above 0'],
    [{ windowMs: 0 }, 'windowMs: expected a number of ms above 0'],
    [{ windowMs: -1 }, 'windowMs: expected a number of ms above 0'],
    [{ windowMs: '1 minute' }, 'windowMs: expected a number of ms above 0'],
    [{ windowMs: 1e15 }, 'window'],
  ])('with %j it is refused at the start, and then with every hit', async (changed, message) => {
    const store = make();
    const options = { windowMs: WINDOW_MS, limit: 1, ...changed } as Parameters<typeof store.init>[0];
    expect(() => store.init(options)).toThrow(message);
    await expect(store.increment('a')).rejects.toThrow(message);
  });

  test('numbers may be text, as an environment has them', async () => {
    const plugin = { limit: '2', windowMs: '60000' } as unknown as { limit: number; windowMs: number };
    const { clock, hits } = started({}, plugin, make);
    expect(await hits('a', 3)).toEqual([1, 2, 3]);
    clock.advance(WINDOW_MS);
    expect(await hits('a', 1)).toEqual([1]);
  });

  test('a store that was never started says so', async () => {
    await expect(make().increment('a')).rejects.toThrow('store: not started');
  });

  test('a store serves one limit: with another it counts nothing more, and with the same it goes on', async () => {
    const { store, hits } = started({}, {}, make);
    store.init({ windowMs: WINDOW_MS, limit: 3 });
    expect(await hits('a', 4)).toEqual([1, 2, 3, 4]);
    for (const changed of [{ limit: 2 }, { windowMs: 1000 }, { limit: () => 3 }, { skipFailedRequests: true }]) {
      const twice = started({}, {}, make);
      const message = 'store: one store cannot serve limits that differ';
      expect(() => twice.store.init({ windowMs: WINDOW_MS, limit: 3, ...changed })).toThrow(message);
      await expect(twice.hits('a', 1)).rejects.toThrow(message);
    }
  });
});

test('the decrement of a refused hit gives nothing back, where the middleware calls it for refusals', async () => {
  const http = { requestWasSuccessful: () => true };
  for (const [make, plugin] of [
    [expressStore, { ...http, skipFailedRequests: true }],
    [honoStore, { ...http, skipSuccessfulRequests: true }],
  ] as const) {
    const { store, hits } = started({}, plugin, make as unknown as typeof expressStore);
    await hits('a', 5);
    await store.decrement('a');
    await store.decrement('a');
    expect(await hits('a', 1), 'both were of refusals').toEqual([4]);
    for (let i = 0; i < 3; i++) await store.decrement('a');
    expect(await hits('a', 3)).toEqual([2, 3, 4]);
  }
});

test('a refusal keeps nothing from being given back, where the middleware does not call decrement for it', async () => {
  const http = { requestWasSuccessful: () => true };
  for (const [make, plugin] of [
    [expressStore, { ...http, skipSuccessfulRequests: true }],
    [honoStore, { ...http, skipFailedRequests: true }],
    [honoStore, { skipSuccessfulRequests: true }],
  ] as const) {
    const { store, hits } = started({}, plugin, make as unknown as typeof expressStore);
    await hits('a', 5);
    await store.decrement('a');
    expect(await hits('a', 2)).toEqual([3, 4]);
  }
});

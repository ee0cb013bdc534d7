import { memoryStore, type Store } from 'comporta';
import { comportaStore } from 'comporta/express-rate-limit';
import { FakeClock, faultyStore } from 'comporta/testing';
import { expect, test } from 'vitest';
import { Counter } from '../../../packages/comporta/src/drop-in/counter.js';
import { checkOptions, policyName } from '../../../packages/comporta/src/drop-in/options.js';

const rule = (limit: number) => ({ policy: 'api', limit, windowMs: 60_000 });

test('of ever new limits the ones that were not asked for longest are ended', async () => {
  const counter = new Counter(checkOptions({}, 'api'));
  const [first, used] = [counter.limiter(rule(1)), counter.limiter(rule(2))];
  for (let limit = 3; limit <= 501; limit++) {
    counter.limiter(rule(limit));
    expect(counter.limiter(rule(2))).toBe(used);
  }
  expect(counter.limiter(rule(1))).not.toBe(first);
  await expect(first.consume('a')).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  await expect(used.consume('a')).resolves.toMatchObject({ allowed: true });
  await counter.close();
});

test('the breaker of a store is told once, however many limits there are', async () => {
  const clock = new FakeClock();
  const store = faultyStore({ clock });
  const told: string[] = [];
  const onEvent = (name: string): void => void told.push(name);
  const counter = new Counter(checkOptions({ store, name: 'api', clock, onEvent }, 'api'));
  for (const limit of [1, 2, 3]) await counter.hit('a', rule(limit));
  store.down();
  // Until then the refused are refused without asking.
  clock.advance(20);
  for (let i = 0; i < 20; i++) await counter.hit('a', rule(1 + (i % 3)));
  expect(told.filter((name) => name === 'breaker')).toHaveLength(1);
  await counter.close();
});

/** A store that several processes use, as far as it knows. */
function sharedBy(processes: number, faulty: Store): Store {
  return {
    kind: 'redis',
    bind: (plan) => ({ ...faulty.bind(plan), part: () => ({ processes, rank: 0 }) }),
    ping: () => faulty.ping(),
    ready: () => faulty.ready(),
    close: () => faulty.close(),
  };
}

test('in an outage a process has its part of a known limit, and counts an unknown one from what it saw', async () => {
  const clock = new FakeClock();
  for (const [limit, expected] of [
    [8, [9, 9]],
    [() => 8, [5, 6]],
  ] as const) {
    const faulty = faultyStore({ clock });
    const store = comportaStore({ store: sharedBy(4, faulty), name: 'api', clock, onEvent: () => undefined });
    store.init({ limit, windowMs: 60_000 });
    for (let i = 0; i < 4; i++) await store.increment('a');
    faulty.down();
    const hits = [];
    // A quarter of the four that are left of the known limit is one.
    if (typeof limit === 'number') expect((await store.increment('a')).totalHits).toBeLessThanOrEqual(8);
    for (let i = 0; i < 2; i++) hits.push((await store.increment('a')).totalHits);
    expect(hits).toEqual(expected);
  }
});

test('the decrement of a refused hit gives nothing back either when its response ends late', async () => {
  const clock = new FakeClock();
  const store = comportaStore({ clock });
  store.init({ limit: 1, windowMs: 60_000, skipFailedRequests: true });
  await store.increment('a');
  await store.increment('a');
  clock.advance(30_000);
  await store.decrement('a');
  expect((await store.get('a'))?.totalHits).toBe(1);
});

test('names of policies stay readable where they can, and no two parts ever share one', () => {
  expect(policyName('api', 'short')).toBe('api.short');
  const parts = ['GET /a', 'GET /b', 'a.b', 'x'.repeat(100), `${'x'.repeat(99)}y`, ''];
  const names = ['api', 'a'.repeat(64)].flatMap((name) => parts.map((part) => policyName(name, part)));
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
  expect(() => checkOptions({ store: memoryStore(), name: 'a'.repeat(65) }, 'api')).toThrow('policy');
});

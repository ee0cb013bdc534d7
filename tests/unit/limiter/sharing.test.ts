import { memoryStore, slidingWindow } from 'comporta';
import { expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock } from '../../support/fake-clock.js';

const [perDay, perMinute] = [slidingWindow({ limit: 500, window: '1d' }), slidingWindow({ limit: 10, window: '1m' })];

test('two policies on one store never share counts, though subject and limits are the same', async () => {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const a = wire({ policy: 'a', limits: perMinute, store }, clock);
  const b = wire({ policy: 'b', limits: perMinute, store }, clock);
  for (let i = 0; i < 10; i++) await a.consume('s');
  expect((await a.peek('s')).allowed).toBe(false);
  expect((await b.peek('s')).binding?.remaining).toBe(10);
});

test('a request that passes two policies counts once in each', async () => {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const limiters = [perDay, perMinute].map((limits, i) => wire({ policy: `p${i}`, limits, store }, clock));
  for (let i = 0; i < 4; i++) for (const limiter of limiters) await limiter.consume('s');
  const left = await Promise.all(limiters.map(async (limiter) => (await limiter.peek('s')).binding?.remaining));
  expect(left).toEqual([496, 6]);
});

test('one policy made twice on one store counts together', async () => {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const twice = [0, 1].map(() => wire({ policy: 'a', limits: perMinute, store }, clock));
  const passed = [];
  for (let i = 0; i < 20; i++) passed.push((await twice[i % 2]?.consume('s'))?.allowed);
  expect(passed.filter(Boolean).length).toBe(10);
});

test('limiters without a store each have one of their own', async () => {
  const clock = new FakeClock();
  const [a, b] = [0, 1].map(() => wire({ policy: 'a', limits: perMinute }, clock));
  await a?.consume('s', { cost: 10 });
  expect((await a?.peek('s'))?.allowed).toBe(false);
  expect((await b?.peek('s'))?.binding?.remaining).toBe(10);
});

test('a reset of one policy leaves the subject of the other alone', async () => {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const [a, b] = ['a', 'b'].map((policy) => wire({ policy, limits: perMinute, store }, clock));
  await a?.consume('s', { cost: 10 });
  await b?.consume('s', { cost: 10 });
  await a?.reset('s');
  expect([(await a?.peek('s'))?.allowed, (await b?.peek('s'))?.allowed]).toEqual([true, false]);
});

import { type DecisionEvent, fixedWindow, tokenBucket } from 'comporta';
import { testLimiter } from 'comporta/testing';
import { expect, test } from 'vitest';
import { flush } from '../../support/fake-clock.js';
import { admits, scripted } from '../limiter/scripted-store.js';

const limits = fixedWindow({ limit: 1, window: '1d' });

test('listeners hear of each decision, allowed or not, with its time', async () => {
  const { limiter } = testLimiter({ policy: 'api', limits });
  const events: DecisionEvent[] = [];
  limiter.on('decision', (event) => events.push(event));
  const first = limiter.decide('a');
  const second = await limiter.consume('a', { shadow: true });
  expect(events).toEqual([
    { policy: 'api', decision: first, shadow: false, store: 'memory', durationMs: expect.any(Number) },
    { policy: 'api', decision: second, shadow: true, store: 'memory', durationMs: expect.any(Number) },
  ]);
  for (const { durationMs } of events) expect(durationMs).toBeGreaterThanOrEqual(0);
});

test('looks are not told, and a wait once, without a time', async () => {
  const { limiter, clock } = testLimiter({ limits: tokenBucket({ capacity: 1, refill: 1, every: '1s' }) });
  const events: DecisionEvent[] = [];
  limiter.on('decision', (event) => events.push(event));
  await limiter.peek('a');
  await limiter.consume('a', { cost: 0 });
  await limiter.consume('b');
  const waits = [limiter.wait('b'), limiter.wait('b', { maxWaitMs: 5 })];
  clock.advance(1000);
  await Promise.all(waits);
  expect(events.map(({ decision, durationMs }) => [decision.allowed, durationMs === undefined])).toEqual([
    [true, false],
    [false, true],
    [true, true],
  ]);
});

test('who has begun before the first listener is not told', async () => {
  const { limiter, store } = scripted({ limits });
  const answer = limiter.consume('a');
  const events: DecisionEvent[] = [];
  limiter.on('decision', (event) => events.push(event));
  store.call(0).resolve(admits());
  await answer;
  expect(events).toEqual([]);
});

test('a listener may wait for the same subject: each asks the store once', async () => {
  const { limiter, store } = scripted({ limits });
  let joined: Promise<unknown> | undefined;
  limiter.on('decision', () => {
    joined ??= limiter.wait('a');
  });
  const first = limiter.wait('a');
  store.call(0).resolve(admits());
  await first;
  await flush();
  expect(store.calls).toHaveLength(2);
  store.call(1).resolve(admits());
  await joined;
  await flush();
  expect(store.calls).toHaveLength(2);
});

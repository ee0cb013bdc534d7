import { type DeniedEvent, slidingWindow } from 'comporta';
import { expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock } from '../../support/fake-clock.js';
import { scripted, unavailable } from '../limiter/scripted-store.js';

function setUp() {
  const clock = new FakeClock();
  const limiter = wire({ policy: 'api', limits: slidingWindow({ limit: 1, window: '1h' }) }, clock);
  const heard: DeniedEvent[] = [];
  const listen = () => limiter.on('denied', (event) => heard.push(event));
  return { clock, limiter, heard, listen };
}

test('a refusal is told with its decision; what was admitted and mere looks are not', async () => {
  const { limiter, heard, listen } = setUp();
  listen();
  await limiter.consume('s');
  await limiter.peek('s');
  await limiter.consume('s', { cost: 0 });
  expect(heard).toEqual([]);
  const decision = await limiter.consume('s');
  expect(heard).toEqual([{ policy: 'api', decision, shadow: false, leftOut: 0 }]);
});

test('ten a second are told, and the next says how many were left out', async () => {
  const { clock, limiter, heard, listen } = setUp();
  listen();
  await limiter.consume('s');
  for (let second = 0; second < 3; second++) {
    for (let i = 0; i < 100; i++) await limiter.consume('s');
    clock.advance(1000);
  }
  expect(heard.map(({ leftOut }) => leftOut)).toEqual(
    Array.from({ length: 30 }, (_, i) => (i === 10 || i === 20 ? 90 : 0)),
  );
  expect(heard.length + heard.reduce((sum, { leftOut }) => sum + leftOut, 0)).toBe(300 - 90);
});

test('nothing is counted while nobody listens', async () => {
  const { limiter, heard, listen } = setUp();
  for (let i = 0; i < 100; i++) await limiter.consume('s');
  const stop = listen();
  await limiter.consume('s');
  stop();
  await limiter.consume('s');
  expect(heard.map(({ leftOut }) => leftOut)).toEqual([0]);
});

test('a clock that steps back does not silence it', async () => {
  const { clock, limiter, heard, listen } = setUp();
  listen();
  for (let i = 0; i < 21; i++) await limiter.consume('s');
  expect(heard.length).toBe(10);
  const step = clock.nowUs() - 3_600_000_000;
  Object.assign(clock, { nowUs: () => step });
  await limiter.consume('s');
  expect(heard.length).toBe(11);
});

test('a refusal for want of a store says so', async () => {
  const { limiter, store } = scripted({
    limits: slidingWindow({ limit: 1, window: '1s' }),
    onStoreFailure: 'closed',
  });
  const reasons: unknown[] = [];
  limiter.on('denied', ({ decision }) => reasons.push(decision.reason));
  store.throws = unavailable();
  await limiter.consume('s');
  expect(reasons).toEqual(['store-unavailable']);
});

test('a refusal that the caller does not enforce is marked', async () => {
  const { limiter, heard, listen } = setUp();
  listen();
  await limiter.consume('s');
  await limiter.consume('s', { shadow: true });
  await limiter.consume('s');
  expect(heard.map(({ shadow }) => shadow)).toEqual([true, false]);
});

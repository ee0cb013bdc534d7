import { redisStore } from 'comporta/redis';
import { upstashStore } from 'comporta/upstash';
import { expect, test } from 'vitest';
import { nextTurn } from '../../../packages/comporta/src/core/time.js';
import { StoreError, type Waiter } from '../../../packages/comporta/src/core/waiting.js';
import { Batcher } from '../../../packages/comporta/src/stores/batch.js';
import { batching, begun, filled, ITEMS_MAX, range } from './batching.js';

test('what is alone goes at once', async () => {
  const { ask, calls, itemsOf } = batching();
  for (const item of range(3)) {
    const asked = ask(item);
    expect(calls).toHaveLength(1);
    expect(itemsOf()).toEqual([item]);
    await calls.splice(0)[0]?.answer();
    expect(await asked).toBe(`to ${item}`);
  }
});

test('after a call of several the next waits for the end of its turn, until one is alone again', async () => {
  const { ask, calls, itemsOf } = batching();
  for (const item of ['a', 'b', 'c']) void ask(item);
  expect(itemsOf()).toEqual(['a']);
  await nextTurn();
  expect(itemsOf()).toEqual(['a', 'b,c']);
  for (const call of calls.splice(0)) await call.answer();
  for (const item of ['d', 'e', 'f']) void ask(item);
  expect(calls).toEqual([]);
  await nextTurn();
  expect(itemsOf()).toEqual(['d,e,f']);
  await calls.splice(0)[0]?.answer();
  void ask('g');
  await nextTurn();
  await calls.splice(0)[0]?.answer();
  void ask('h');
  expect(itemsOf()).toEqual(['h']);
});

test('so it does after a call that was full before the end of its turn', async () => {
  const { ask, calls } = batching();
  for (const item of range(1 + ITEMS_MAX)) void ask(item);
  await nextTurn();
  for (const call of calls.splice(0)) await call.answer();
  void ask('next');
  expect(calls).toEqual([]);
});

test('what is asked in one turn while others are in flight goes together, in order; each hears its own', async () => {
  const { ask, calls, itemsOf } = await begun();
  const asked = ['b', 'c', 'd'].map((item) => ask(item));
  expect(itemsOf()).toEqual([]);
  await nextTurn();
  expect(itemsOf()).toEqual(['b,c,d']);
  const refused = new StoreError('misconfigured', 'of this one alone');
  await calls[0]?.answer(['1', refused, '3']);
  expect(await Promise.all(asked)).toEqual(['1', refused, '3']);
});

test('lanes do not wait for one another', async () => {
  const { ask, itemsOf } = await begun();
  void ask('a', { lane: 'x' });
  void ask('b', { lane: 'y' });
  expect(itemsOf()).toEqual(['a', 'b']);
});

test('with four calls in flight the rest waits for an answer', async () => {
  const { ask, calls, itemsOf } = await filled();
  void ask('e');
  await nextTurn();
  void ask('f');
  await nextTurn();
  expect(calls.length).toBe(3);
  await calls[2]?.answer();
  expect(itemsOf().slice(3)).toEqual(['e,f']);
});

test.each([
  [5, []],
  [6, ['e', 'f']],
])(
  'with answers that take %i ms of 50 there go %j before the next answer: far from a server none waits',
  async (tookMs, sent) => {
    const { ask, itemsOf } = await filled(tookMs);
    for (const item of ['e', 'f']) {
      void ask(item);
      await nextTurn();
    }
    expect(itemsOf().slice(3)).toEqual(sent);
  },
);

test('a server is not taken for a far one when calls take long because others are before them', async () => {
  const { ask, calls, clock, itemsOf } = batching();
  void ask('first');
  await calls.splice(0)[0]?.answer();
  for (const item of range(4)) {
    void ask(item);
    await nextTurn();
  }
  await clock.pass(40);
  expect(calls).toHaveLength(4);
  for (const call of calls.splice(0)) await call.answer();
  for (const item of ['a', 'b', 'c', 'd', 'e']) {
    void ask(item);
    await nextTurn();
  }
  expect(itemsOf()).toEqual(['a', 'b', 'c', 'd']);
});

test('nor is it for good when the first call took long', async () => {
  const { ask, calls, clock, itemsOf } = batching();
  void ask('first');
  await clock.pass(30);
  await calls.splice(0)[0]?.answer();
  for (let i = 0; i < 20; i++) {
    void ask('soon');
    await calls.splice(0)[0]?.answer();
  }
  for (const item of ['a', 'b', 'c', 'd', 'e']) {
    void ask(item);
    await nextTurn();
  }
  expect(itemsOf()).toEqual(['a', 'b', 'c', 'd']);
});

test('what fills a call goes whatever is in flight', async () => {
  const { ask, itemsOf } = await filled();
  for (let i = 0; i < ITEMS_MAX; i++) void ask(String(i));
  expect(itemsOf().slice(3)).toEqual(['0,1,2,3,4']);
});

test('who is over while it waits is never sent, and is known not to have been', async () => {
  const { ask, calls, clock, itemsOf, asked } = await filled();
  const brief = ask('brief', { timeoutMs: 20 });
  const patient = ask('patient', { timeoutMs: 1000 });
  await clock.pass(20);
  expect(await brief).toMatchObject({ kind: 'timeout', isUnsent: true });
  // The calls in flight are over too: what waits behind them waits no longer.
  await clock.pass(30);
  expect(await Promise.all(asked)).toEqual(asked.map(() => expect.objectContaining({ isUnsent: false })));
  await nextTurn();
  expect(itemsOf().slice(3)).toEqual(['patient']);
  await calls[3]?.answer();
  expect(await patient).toBe('to patient');
});

test('answers that come after everybody has gone make no more room', async () => {
  const { ask, calls, clock } = await filled();
  await clock.pass(50);
  for (const call of calls.splice(0)) await call.answer();
  // Answers that came soon again: after those that never came nothing waits for the next.
  for (let i = 0; i < 20; i++) {
    void ask('soon');
    await calls.splice(0)[0]?.answer();
  }
  for (let i = 0; i < 6; i++) {
    void ask('later');
    await nextTurn();
  }
  expect(calls).toHaveLength(4);
});

test('a call waits as long as the most patient of it, and is over when all are', async () => {
  const { ask, calls, clock } = await begun();
  const asked = [ask('b', { timeoutMs: 20 }), ask('c', { timeoutMs: 200 })];
  await nextTurn();
  const waiter = calls[0]?.waiter as Waiter;
  expect(waiter.timeoutMs).toBe(200);
  await clock.pass(20);
  expect(await asked[0]).toMatchObject({ kind: 'timeout', isUnsent: false });
  expect(waiter.isOver).toBe(false);
  await clock.pass(180);
  expect(await asked[1]).toMatchObject({ kind: 'timeout', isUnsent: false });
  expect(waiter.isOver).toBe(true);
});

test('a call that fails fails for all of it alike, and nothing of it is sent again', async () => {
  const { ask, calls, itemsOf } = await begun();
  const asked = [ask('b'), ask('c')];
  await nextTurn();
  const lost = new StoreError('unavailable', 'the connection is lost');
  await calls[0]?.fail(lost);
  expect(await Promise.all(asked)).toEqual([lost, lost]);
  expect(itemsOf()).toEqual(['b,c']);
});

test('a carrier that throws at once answers with that', async () => {
  const fault = new StoreError('unavailable', 'no');
  const send = (): never => {
    throw fault;
  };
  const batcher = new Batcher<string, string>({ itemsMax: 5, one: send, many: send });
  for (let i = 0; i < 10; i++) {
    const waiters = range(10).map((): Waiter => ({ isOver: false, timeoutMs: 50 }));
    const outcomes = await Promise.allSettled(waiters.map((waiter) => batcher.ask('', 'a', waiter)));
    expect(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason)).toEqual(Array(10).fill(fault));
  }
});

test('batch is true or false', () => {
  const options = { batch: 'no' as unknown as boolean };
  const wrong = expect.objectContaining({ code: 'ERR_OPTION', field: 'batch' });
  expect(() => redisStore('redis://127.0.0.1:1', options)).toThrow(wrong);
  expect(() => upstashStore({ url: 'https://example.com', token: 'token', ...options })).toThrow(wrong);
});

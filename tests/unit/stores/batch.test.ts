import { redisStore } from 'comporta/redis';
import { upstashStore } from 'comporta/upstash';
import { expect, test } from 'vitest';
import { nextTurn } from '../../../packages/comporta/src/core/time.js';
import { StoreError, type Waiter } from '../../../packages/comporta/src/core/waiting.js';
import { withDeadline } from '../../../packages/comporta/src/resilience/deadline.js';
import { Batcher } from '../../../packages/comporta/src/stores/batch.js';
import { FakeClock } from '../../support/fake-clock.js';

const ITEMS_MAX = 5;

interface Call {
  readonly items: readonly string[];
  readonly waiter: Waiter;
  answer(outcomes?: readonly (string | StoreError)[]): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** A batcher whose calls are answered by hand. */
function batching() {
  const calls: Call[] = [];
  const clock = new FakeClock();
  const send = (items: readonly string[], waiter: Waiter): Promise<readonly (string | StoreError)[]> =>
    new Promise((resolve, reject) => {
      const settled = async (settle: () => void): Promise<void> => {
        settle();
        await nextTurn();
        await nextTurn();
      };
      calls.push({
        items,
        waiter,
        answer: (outcomes = items.map((item) => `to ${item}`)) => settled(() => resolve(outcomes)),
        fail: (error) => settled(() => reject(error)),
      });
    });
  const batcher = new Batcher<string, string>({
    itemsMax: ITEMS_MAX,
    one: (item, waiter) => send([item], waiter).then(([reply]) => reply as string),
    many: send,
  });
  /** As the guard asks: the outcome, or the error that ended it. */
  const ask = (item: string, { lane = '', timeoutMs = 50 } = {}) => {
    const waiter: Waiter = { isOver: false, timeoutMs, isHeld: false, onOver: undefined };
    return withDeadline<string, string | StoreError>(batcher.ask(lane, item, waiter), {
      waiter,
      timeoutMs,
      signal: undefined,
      clock,
      onSettled: () => undefined,
      onValue: (value) => value,
      onError: (error) => error as StoreError,
    });
  };
  return { ask, calls, clock, itemsOf: () => calls.map(({ items }) => items.join()) };
}

test('with nothing in flight a call goes at once and alone', async () => {
  const { ask, calls, itemsOf } = batching();
  for (const item of ['a', 'b']) {
    const asked = ask(item);
    expect(calls.at(-1)?.items).toEqual([item]);
    await calls.at(-1)?.answer();
    expect(await asked).toBe(`to ${item}`);
  }
  expect(itemsOf()).toEqual(['a', 'b']);
});

test('what is asked in one turn while a call is in flight goes together, in order; each hears its own', async () => {
  const { ask, calls, itemsOf } = batching();
  const asked = ['a', 'b', 'c', 'd'].map((item) => ask(item));
  expect(itemsOf()).toEqual(['a']);
  await nextTurn();
  expect(itemsOf()).toEqual(['a', 'b,c,d']);
  const refused = new StoreError('misconfigured', 'of this one alone');
  await calls[1]?.answer(['1', refused, '3']);
  await calls[0]?.answer(['0']);
  expect(await Promise.all(asked)).toEqual(['0', '1', refused, '3']);
});

test('lanes do not wait for one another', async () => {
  const { ask, itemsOf } = batching();
  void ask('a', { lane: 'x' });
  void ask('b', { lane: 'y' });
  expect(itemsOf()).toEqual(['a', 'b']);
});

/** Four calls of one item each in flight in the lane. */
async function filled() {
  const bench = batching();
  const asked = [];
  for (const item of ['a', 'b', 'c', 'd']) {
    asked.push(bench.ask(item));
    await nextTurn();
  }
  expect(bench.itemsOf()).toEqual(['a', 'b', 'c', 'd']);
  return { ...bench, asked };
}

test('with four calls in flight the rest waits for the first answer', async () => {
  const { ask, calls, itemsOf } = await filled();
  void ask('e');
  await nextTurn();
  void ask('f');
  await nextTurn();
  expect(calls.length).toBe(4);
  await calls[2]?.answer();
  expect(itemsOf().slice(4)).toEqual(['e,f']);
});

test('what fills a call goes whatever is in flight', async () => {
  const { ask, itemsOf } = await filled();
  for (let i = 0; i < ITEMS_MAX; i++) void ask(String(i));
  expect(itemsOf().slice(4)).toEqual(['0,1,2,3,4']);
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
  expect(itemsOf().slice(4)).toEqual(['patient']);
  await calls[4]?.answer();
  expect(await patient).toBe('to patient');
});

test('answers that come after everybody has gone make no more room', async () => {
  const { ask, calls, clock, itemsOf } = await filled();
  await clock.pass(50);
  for (const call of calls) await call.answer();
  for (const item of ['e', 'f', 'g', 'h', 'i', 'j']) {
    void ask(item);
    await nextTurn();
  }
  expect(itemsOf().slice(4)).toEqual(['e', 'f', 'g', 'h']);
});

test('a call waits as long as the most patient of it, and is over when all are', async () => {
  const { ask, calls, clock } = batching();
  void ask('a');
  const asked = [ask('b', { timeoutMs: 20 }), ask('c', { timeoutMs: 200 })];
  await nextTurn();
  const waiter = calls[1]?.waiter as Waiter;
  expect(waiter.timeoutMs).toBe(200);
  await clock.pass(20);
  expect(await asked[0]).toMatchObject({ kind: 'timeout', isUnsent: false });
  expect(waiter.isOver).toBe(false);
  await clock.pass(180);
  expect(await asked[1]).toMatchObject({ kind: 'timeout', isUnsent: false });
  expect(waiter.isOver).toBe(true);
});

test('a call that fails fails for all of it alike, and nothing of it is sent again', async () => {
  const { ask, calls, itemsOf } = batching();
  void ask('a');
  const asked = [ask('b'), ask('c')];
  await nextTurn();
  const lost = new StoreError('unavailable', 'the connection is lost');
  await calls[1]?.fail(lost);
  expect(await Promise.all(asked)).toEqual([lost, lost]);
  expect(itemsOf()).toEqual(['a', 'b,c']);
});

test('a carrier that throws at once answers with that', async () => {
  const fault = new StoreError('unavailable', 'no');
  const send = (): never => {
    throw fault;
  };
  const batcher = new Batcher<string, string>({ itemsMax: 5, one: send, many: send });
  for (let i = 0; i < 10; i++) {
    const waiters = [0, 1, 2].map((): Waiter => ({ isOver: false, timeoutMs: 50 }));
    const outcomes = await Promise.allSettled(waiters.map((waiter) => batcher.ask('', 'a', waiter)));
    expect(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason)).toEqual([fault, fault, fault]);
  }
});

test('batch is true or false', () => {
  const options = { batch: 'no' as unknown as boolean };
  const wrong = expect.objectContaining({ code: 'ERR_OPTION', field: 'batch' });
  expect(() => redisStore('redis://127.0.0.1:1', options)).toThrow(wrong);
  expect(() => upstashStore({ url: 'https://example.com', token: 'token', ...options })).toThrow(wrong);
});

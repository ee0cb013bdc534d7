import { slidingWindow } from 'comporta';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { flush } from '../../support/fake-clock.js';
import { admits, scripted, unavailable } from '../limiter/scripted-store.js';

const limits = slidingWindow({ limit: 2, window: '1s' });
const open = (timeoutMs?: number) =>
  scripted({ limits, onStoreFailure: 'open', ...(timeoutMs === undefined ? {} : { timeoutMs }) });

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(async () => {
  await flush();
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toEqual([]);
});

/** Whether a promise has settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await flush();
  return settled;
}

describe('the time limit', () => {
  test.each([
    [undefined, 50],
    [1, 1],
    [60_000, 60_000],
  ])('of %s ends the wait at exactly %i ms', async (timeoutMs, endsAtMs) => {
    const { clock, limiter, store } = open(timeoutMs);
    const answer = limiter.consume('s');
    clock.advance(endsAtMs - 1);
    expect([await isSettled(answer), store.call(0).waiter.isOver]).toEqual([false, false]);
    clock.advance(1);
    expect(store.call(0).waiter.isOver).toBe(true);
    expect(await answer).toMatchObject({ degraded: { cause: 'timeout', detail: `no answer within ${endsAtMs} ms` } });
  });

  test('leaves an answer that comes just before it alone, and its timer is stopped', async () => {
    const { clock, limiter, store } = open();
    const answer = limiter.consume('s');
    clock.advance(49);
    store.call(0).resolve(admits());
    expect(await answer).toMatchObject({ allowed: true, degraded: undefined });
    expect(clock.timers).toBe(0);
    expect(store.call(0).waiter.isOver).toBe(true);
  });

  test('drops an answer that comes later', async () => {
    const { clock, limiter, store, heard } = open();
    const answer = limiter.consume('s');
    clock.advance(50);
    store.call(0).resolve(admits());
    expect(await answer).toMatchObject({ degraded: { cause: 'timeout' } });
    expect(heard).toEqual(['storeError api timeout', 'degraded api timeout']);
  });

  test('silences a failure that comes later', async () => {
    const { clock, limiter, store, heard } = open();
    const answer = limiter.consume('s');
    clock.advance(50);
    await answer;
    store.call(0).reject(unavailable());
    await flush();
    expect(heard).toEqual(['storeError api timeout', 'degraded api timeout']);
  });

  test('counts for each call from its own start', async () => {
    const { clock, limiter } = open();
    const first = limiter.consume('s');
    clock.advance(30);
    const second = limiter.consume('s');
    clock.advance(20);
    expect([await isSettled(first), await isSettled(second)]).toEqual([true, false]);
    clock.advance(30);
    expect(await isSettled(second)).toBe(true);
  });

  test('leaves no timer behind for any number of calls', async () => {
    const { clock, limiter, store } = open();
    const answers = Array.from({ length: 1000 }, (_, i) => limiter.consume(`s${i}`));
    expect(clock.timers).toBe(1000);
    for (const [i, call] of store.calls.entries()) {
      if (i % 2 === 0) call.resolve(admits());
      else call.reject(unavailable());
    }
    await Promise.all(answers);
    expect(clock.timers).toBe(0);
  });
});

describe('a caller’s own time limit', () => {
  test.each([
    [10, 10],
    [0, 0],
    [0.5, 0.5],
    [49, 49],
    [51, 50],
    [60_000, 50],
    [Number.POSITIVE_INFINITY, 50],
  ])('of %s ms ends the wait at %s ms', async (timeoutMs, endsAtMs) => {
    const { clock, limiter } = open();
    const answer = limiter.consume('s', { timeoutMs });
    if (endsAtMs > 0) clock.advance(endsAtMs - 0.25);
    expect(await isSettled(answer)).toBe(false);
    clock.advance(0.25);
    expect(await answer).toMatchObject({ degraded: { cause: 'timeout' } });
  });

  test('holds for a look too', async () => {
    const { clock, limiter } = open();
    const answer = limiter.peek('s', { timeoutMs: 10 });
    clock.advance(10);
    expect(await answer).toMatchObject({ degraded: { cause: 'timeout' } });
  });
});

describe('a caller that aborts', () => {
  test('before the call: the store is never asked', async () => {
    const { clock, limiter, store, heard } = open();
    const answer = limiter.decide('s', { signal: AbortSignal.abort() });
    expect(answer).toMatchObject({ allowed: true, degraded: { mode: 'open', cause: 'aborted' } });
    expect([store.calls.length, clock.timers, heard]).toEqual([0, 0, []]);
  });

  test('during the call: the wait ends at once, the store is told, and it is no fault of the store', async () => {
    const { clock, limiter, store, heard } = open();
    const abort = new AbortController();
    const answer = limiter.consume('s', { signal: abort.signal });
    clock.advance(5);
    abort.abort(new Error('gone'));
    expect(store.call(0).waiter.isOver).toBe(true);
    expect(await answer).toMatchObject({ degraded: { cause: 'aborted' } });
    expect([clock.timers, heard]).toEqual([0, []]);
    store.call(0).reject(unavailable());
  });

  test('after the answer: nothing happens, and nothing listens any more', async () => {
    const { limiter, store, heard } = open();
    const abort = new AbortController();
    let listening = 0;
    const { signal } = abort;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...parts: Parameters<typeof add>) => {
      listening++;
      add(...parts);
    };
    signal.removeEventListener = (...parts: Parameters<typeof remove>) => {
      listening--;
      remove(...parts);
    };
    const answer = limiter.consume('s', { signal });
    expect(listening).toBe(1);
    store.call(0).resolve(admits());
    expect(await answer).toMatchObject({ degraded: undefined });
    abort.abort();
    expect([listening, heard]).toEqual([0, []]);
  });

  test('in mode local is answered by the local count', async () => {
    const { limiter, store } = scripted({ limits });
    const signal = AbortSignal.abort();
    const decisions = [1, 2, 3].map(() => limiter.decide('s', { signal }));
    expect(decisions).toMatchObject([
      { allowed: true, degraded: { mode: 'local' } },
      { allowed: true },
      { allowed: false },
    ]);
    expect(store.calls).toEqual([]);
  });
});

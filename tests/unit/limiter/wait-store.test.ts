import { slidingWindow } from 'comporta';
import { describe, expect, test } from 'vitest';
import { flush } from '../../support/fake-clock.js';
import { admits, refuses, scripted, unavailable } from './scripted-store.js';

// The store's answers take time here, so much can happen between a question and its answer.
const limits = slidingWindow({ limit: 3, window: '10s' });

describe('while a question is under way', () => {
  test('only the first in the queue asks, and the next asks when it has its answer', async () => {
    const { limiter, store } = scripted({ limits });
    const all = [limiter.wait('s'), limiter.wait('s'), limiter.wait('s')];
    for (const index of [0, 1, 2]) {
      expect(store.calls.length).toBe(index + 1);
      store.call(index).resolve(admits());
      await flush();
    }
    expect((await Promise.all(all)).every(({ allowed }) => allowed)).toBe(true);
  });

  test('a charge for somebody who has left meanwhile is given back', async () => {
    const { limiter, store } = scripted({ limits });
    const leaving = new AbortController();
    const gone = limiter.wait('s', { cost: 2, signal: leaving.signal });
    leaving.abort();
    await expect(gone).rejects.toMatchObject({ name: 'AbortError' });
    store.call(0).resolve(admits());
    await flush();
    expect(store.call(1)).toMatchObject({ operation: 'refund', given: [{ subject: 's', amount: 2 }] });
    expect(store.calls.length).toBe(2);
  });

  test('a refusal of somebody who has left holds nobody up: the next asks for itself', async () => {
    const { clock, limiter, store } = scripted({ limits });
    const leaving = new AbortController();
    const gone = limiter.wait('s', { cost: 3, signal: leaving.signal });
    const next = limiter.wait('s');
    leaving.abort();
    await expect(gone).rejects.toThrow();
    store.call(0).resolve(refuses(5000));
    await flush();
    expect(clock.timers).toBe(1);
    store.call(1).resolve(admits());
    expect(await next).toMatchObject({ allowed: true, cost: 1 });
    expect(clock.timers).toBe(0);
  });

  test('waiters that came meanwhile and cannot be served in time are refused with its answer', async () => {
    const { limiter, store } = scripted({ limits });
    const first = limiter.wait('s', { maxWaitMs: 20_000 });
    const late = limiter.wait('s', { maxWaitMs: 4999 });
    store.call(0).resolve(refuses(5000));
    expect(await late).toMatchObject({ allowed: false, reason: 'limit-exceeded', retryAfterMs: 5000 });
    expect(store.calls.length).toBe(1);
    await Promise.all([limiter.close(), expect(first).rejects.toMatchObject({ code: 'ERR_CLOSED' })]);
  });

  test('close lets it be answered: admitted counts, refused ends with the others', async () => {
    const { limiter, store } = scripted({ limits });
    const [asking, behind, other] = [limiter.wait('s'), limiter.wait('s'), limiter.wait('t')];
    await limiter.close();
    await expect(behind).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    store.call(0).resolve(admits());
    store.call(1).resolve(refuses(1000));
    expect(await asking).toMatchObject({ allowed: true });
    await expect(other).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });
});

describe('when the store cannot answer', () => {
  /** The store is back: how long until it is asked again. Answers that it admits. */
  async function recovers({ clock, store }: Pick<ReturnType<typeof scripted>, 'clock' | 'store'>): Promise<number> {
    store.throws = undefined;
    let ms = 0;
    for (; store.calls.length === 0 && ms < 10_000; ms += 10) await clock.pass(10);
    store.call(0).resolve(admits());
    return ms;
  }

  test('mode closed asks again while there is time, so that a job survives a short outage', async () => {
    const { clock, limiter, store } = scripted({ limits, onStoreFailure: 'closed' });
    store.throws = unavailable();
    const job = limiter.wait('s', { maxWaitMs: 30_000 });
    await clock.pass(5000);
    expect(clock.timers).toBe(1);
    expect(await recovers({ clock, store })).toBeLessThanOrEqual(400);
    expect(await job).toMatchObject({ allowed: true, degraded: undefined });
  });

  test('its refusal is returned when time is over', async () => {
    const { clock, limiter, store } = scripted({ limits, onStoreFailure: 'closed' });
    store.throws = unavailable();
    const job = limiter.wait('s', { maxWaitMs: 2000 });
    await clock.pass(2000);
    expect(await job).toMatchObject({ allowed: false, reason: 'store-unavailable', retryAfterMs: null });
    expect(clock.timers).toBe(0);
  });

  test('mode local does not wait for the end of its own window when the store is back before', async () => {
    const { clock, limiter, store } = scripted({ limits, payBack: false });
    store.throws = unavailable();
    for (let i = 0; i < 3; i++) expect(await limiter.wait('s')).toMatchObject({ allowed: true });
    const job = limiter.wait('s', { maxWaitMs: 5000 });
    await clock.pass(1000);
    expect(await recovers({ clock, store })).toBeLessThanOrEqual(400);
    expect(await job).toMatchObject({ allowed: true, degraded: undefined });
  });

  test('mode open admits at once, and says so', async () => {
    const { limiter, store } = scripted({ limits, onStoreFailure: 'open' });
    store.throws = unavailable();
    expect(await limiter.wait('s')).toMatchObject({ allowed: true, degraded: { mode: 'open' } });
  });
});

test('with other processes on the store a wait is spread by a tenth at most, never before its time', async () => {
  const ends: number[] = [];
  for (let round = 0; round < 50; round++) {
    const { clock, limiter, store } = scripted({ limits, instances: 4 });
    void limiter.wait('s');
    store.call(0).resolve(refuses(500));
    await flush();
    clock.advance(499);
    expect(store.calls.length).toBe(1);
    for (let ms = 499; store.calls.length === 1; ms++, clock.advance(1)) ends.push(ms);
    expect(ends.at(-1)).toBeLessThanOrEqual(550);
    store.call(1).resolve(admits());
    await flush();
  }
  expect(new Set(ends).size).toBeGreaterThan(10);
});

test('only the final refusal of a wait is told as one', async () => {
  const { clock, limiter, store } = scripted({ limits });
  const denied: (number | null)[] = [];
  limiter.on('denied', ({ decision }) => denied.push(decision.retryAfterMs));
  const wait = limiter.wait('s', { maxWaitMs: 1000 });
  store.call(0).resolve(refuses(400));
  await clock.pass(400);
  store.call(1).resolve(refuses(700));
  expect(await wait).toMatchObject({ allowed: false, retryAfterMs: 700 });
  expect(denied).toEqual([700]);
});

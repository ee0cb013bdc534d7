import type { comportaStore } from 'comporta/express-rate-limit';
import { FakeClock, faultyStore } from 'comporta/testing';
import { describe, expect, test } from 'vitest';
import { started } from './started.js';

describe('while the store does not answer', () => {
  const outage = (given: Parameters<typeof comportaStore>[0] = {}, plugin: object = {}) => {
    const clock = new FakeClock();
    const faulty = faultyStore({ clock });
    const events: string[] = [];
    const onEvent = (name: string): void => void events.push(name);
    const parts = started({ store: faulty, name: 'api', clock, onEvent, ...given }, plugin);
    return { ...parts, clock, faulty, events };
  };

  test('mode local goes on counting here, and tells who listens', async () => {
    const { faulty, hits, events } = outage();
    await hits('a', 1);
    faulty.down();
    expect(await hits('a', 4)).toEqual([2, 3, 4, 4]);
    expect(events).toEqual(expect.arrayContaining(['degraded', 'storeError', 'denied']));
  });

  test('a frozen store costs no more than the time limit', async () => {
    const { clock, faulty, store } = outage({ timeoutMs: 20 });
    faulty.freeze();
    let answer: number | undefined;
    void store.increment('a').then(({ totalHits }) => {
      answer = totalHits;
    });
    await clock.pass(19);
    expect(answer).toBeUndefined();
    await clock.pass(1);
    expect(answer).toBe(1);
  });

  test('mode open reports this one hit, whatever was counted before', async () => {
    const { clock, faulty, store, hits } = outage({ onStoreFailure: 'open' });
    await hits('a', 3);
    faulty.down();
    // Until then the refused are refused without asking.
    clock.advance(20);
    expect(await hits('a', 2)).toEqual([1, 1]);
    expect(await store.get('a')).toMatchObject({ totalHits: 1 });
  });

  test('mode closed rejects with 503 and names no host', async () => {
    const { faulty, store } = outage({ onStoreFailure: 'closed' });
    faulty.down();
    const error = await store.increment('a').catch((reason) => reason);
    expect(error).toMatchObject({ name: 'UnavailableError', kind: 'unavailable', status: 503, statusCode: 503 });
    expect(error.message).toBe('the store of the rate limit did not answer');
    expect(error.getResponse().status).toBe(503);
  });

  test('what is given back in the outage was counted in it, and nothing fails', async () => {
    const { faulty, store, hits } = outage({}, { skipFailedRequests: true });
    faulty.down();
    expect(await hits('a', 3)).toEqual([1, 2, 3]);
    await store.decrement('a');
    expect(await hits('a', 2)).toEqual([3, 4]);
  });

  test('a hit that was counted before the outage stays counted when it cannot be given back', async () => {
    const { faulty, store, hits } = outage({}, { skipFailedRequests: true });
    await hits('a', 3);
    faulty.down();
    await expect(store.decrement('a')).resolves.toBeUndefined();
    faulty.up();
  });

  test('without a known limit each process goes on from what it saw last', async () => {
    const { faulty, hits } = outage({}, { limit: () => 3 });
    await hits('a', 2);
    faulty.down();
    expect(await hits('a', 3)).toEqual([3, 4, 5]);
  });
});

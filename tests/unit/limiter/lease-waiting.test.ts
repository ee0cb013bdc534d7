import { concurrency, type Decision, type Lease, memoryStore, slidingWindow } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { admits, refuses, scripted } from './scripted-store.js';

const LEASE_MS = 12_000;
const places = (limit: number) => concurrency({ limit, lease: LEASE_MS });

function inMemory(limits: Parameters<typeof wire>[0]['limits']) {
  const clock = new FakeClock();
  return { clock, limiter: wire({ policy: 'api', store: memoryStore({ clock }), limits }, clock) };
}

describe('waiting for a place', () => {
  test('ends at once when the place is released in this process', async () => {
    const { clock, limiter } = inMemory(places(1));
    const held = await limiter.acquire('s');
    const got: Lease[] = [];
    const waiting = [1, 2].map(async () => got.push(await limiter.acquire('s', { maxWaitMs: 60_000 })));
    await flush();
    expect(got).toEqual([]);
    await held.release();
    await flush();
    expect(
      got.map(({ allowed }) => allowed),
      'the clock stood still',
    ).toEqual([true]);
    await limiter.refund(got[0]?.decision as Decision);
    await flush();
    expect(got.length, 'a refund is a release too').toBe(2);
    await got[1]?.release();
    await Promise.all(waiting);
    expect(clock.timers).toBe(0);
  });

  test('asks again by itself where the place is released elsewhere', async () => {
    const { clock, limiter } = inMemory(places(1));
    const other = await limiter.consume('s');
    const waiting = limiter.acquire('s', { maxWaitMs: 60_000 });
    await clock.pass(LEASE_MS - 1);
    await clock.pass(401);
    const lease = await waiting;
    expect([lease.allowed, lease.decision.id === other.id]).toEqual([true, false]);
    await lease.release();
  });

  test('is refused when it was too long, and leaves nothing behind', async () => {
    const { clock, limiter } = inMemory(places(1));
    const held = await limiter.acquire('s');
    const waiting = limiter.acquire('s', { maxWaitMs: 1000 });
    await clock.pass(1001);
    expect((await waiting).allowed).toBe(false);
    await held.release();
    expect(clock.timers).toBe(0);
  });

  test('that is given up frees the place that came too late', async () => {
    const { limiter, store } = scripted({ limits: places(1) });
    const leaving = new AbortController();
    const waiting = limiter.acquire('s', { maxWaitMs: 60_000, signal: leaving.signal });
    leaving.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    store.call(0).resolve(admits());
    await flush();
    expect(store.call(1)).toMatchObject({ operation: 'refund', given: [{ subject: 's', amount: 1 }] });
  });

  test('is not ended by a release before the other limits have room', async () => {
    const limits = [places(2), slidingWindow({ limit: 1, window: 5000 })];
    const { clock, limiter } = inMemory(limits);
    const held = await limiter.acquire('s');
    const parts = scripted({ limits });
    const waiting = parts.limiter.wait('s', { maxWaitMs: 60_000 });
    parts.store.call(0).resolve(refuses(9000, 5000));
    await flush();
    const lease = parts.limiter.hold({ ...held.decision, id: 'other' });
    const released = lease.release();
    await flush();
    parts.store.call(1).resolve({ atUs: 1_000_000, numbers: [], word: 1 });
    await released;
    expect(parts.store.calls.length, 'the window has no room before 5 s').toBe(2);
    await parts.clock.pass(5000);
    expect(parts.store.calls.length).toBe(3);
    parts.store.call(2).resolve(admits(1, 2));
    expect((await waiting).allowed).toBe(true);
    await held.release();
    expect(clock.timers).toBe(0);
  });
});

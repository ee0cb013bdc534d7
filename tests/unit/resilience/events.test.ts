import { type PolicyStore, type Store, slidingWindow } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { admits, refuses, scripted, unavailable } from '../limiter/scripted-store.js';

const limits = slidingWindow({ limit: 2, window: '1s' });

/** Asks once and lets the store answer or fail; returns what was told meanwhile. */
function told(parts: ReturnType<typeof scripted>) {
  return async (end: 'good' | 'denied' | 'bad' | 'late' | 'aborted') => {
    const before = parts.heard.length;
    const abort = new AbortController();
    const answer = parts.limiter.consume('s', { signal: abort.signal });
    const call = parts.store.call(-1);
    if (end === 'good') call.resolve(admits());
    if (end === 'denied') call.resolve(refuses(10));
    if (end === 'bad') call.reject(unavailable());
    if (end === 'late') parts.clock.advance(50);
    if (end === 'aborted') abort.abort();
    await answer;
    return parts.heard.slice(before);
  };
}

describe('listeners are told', () => {
  test('each failure, but a change of state once', async () => {
    const ask = told(scripted({ limits }));
    expect(await ask('good')).toEqual([]);
    expect(await ask('bad')).toEqual(['storeError api unavailable', 'degraded api unavailable']);
    expect(await ask('bad')).toEqual(['storeError api unavailable']);
    expect(await ask('late')).toEqual(['storeError api timeout']);
    expect(await ask('good')).toEqual(['recovered api']);
    expect(await ask('good')).toEqual([]);
    expect(await ask('late')).toEqual(['storeError api timeout', 'degraded api timeout']);
  });

  test('of recovery by a denial too: the store answered', async () => {
    const ask = told(scripted({ limits }));
    await ask('bad');
    expect(await ask('denied')).toEqual(['recovered api']);
  });

  test('nothing when a caller gives up, neither in good times nor in bad', async () => {
    const ask = told(scripted({ limits }));
    expect(await ask('aborted')).toEqual([]);
    await ask('bad');
    expect(await ask('aborted')).toEqual([]);
    expect(await ask('good')).toEqual(['recovered api']);
  });

  test('nothing by a late answer: only one in time is a recovery', async () => {
    const parts = scripted({ limits });
    await told(parts)('late');
    parts.store.call(0).resolve(admits());
    await flush();
    expect(parts.heard).toEqual(['storeError api timeout', 'degraded api timeout']);
  });

  test('of a store that throws, and of its recovery', async () => {
    const parts = scripted({ limits });
    parts.store.throws = unavailable();
    await parts.limiter.consume('s');
    await parts.limiter.consume('s');
    parts.store.throws = undefined;
    expect(parts.heard).toEqual([
      'storeError api unavailable',
      'degraded api unavailable',
      'storeError api unavailable',
    ]);
    expect(await told(parts)('good')).toEqual(['recovered api']);
  });

  test('of the recovery of a store that answers without a promise', async () => {
    const [clock, heard] = [new FakeClock(), [] as string[]];
    let fails = true;
    const answer = () => {
      if (fails) throw unavailable();
      return admits();
    };
    const policy: PolicyStore = { consume: answer, peek: answer, refund: () => 0, reset: () => 0 };
    const nothing = async () => {};
    const store: Store = { kind: 'redis', bind: () => policy, ping: nothing, ready: nothing, close: nothing };
    const limiter = wire({ policy: 'api', limits, store }, clock);
    limiter.on('degraded', () => heard.push('degraded'));
    limiter.on('recovered', () => heard.push('recovered'));
    for (fails of [true, true, false, false, true]) await limiter.consume('s');
    expect(heard).toEqual(['degraded', 'recovered', 'degraded']);
  });

  test('before the decision is there, so that nobody sees one unannounced', async () => {
    const parts = scripted({ limits });
    parts.store.throws = unavailable();
    const decision = parts.limiter.decide('s');
    expect(decision).toMatchObject({ degraded: { cause: 'unavailable' } });
    expect(parts.heard).toContain('degraded api unavailable');
  });
});

test('a listener that throws changes no decision, and one that was removed hears nothing', async () => {
  const parts = scripted({ limits, onStoreFailure: 'closed' });
  for (const name of ['degraded', 'recovered', 'storeError'] as const) {
    parts.limiter.on(name, () => {
      throw new Error('mine');
    });
  }
  const removed: unknown[] = [];
  parts.limiter.on('degraded', (event) => removed.push(event))();
  const ask = told(parts);
  expect((await ask('bad')).length).toBe(2);
  expect(await ask('good')).toEqual(['recovered api']);
  expect(removed).toEqual([]);
});

test('the payload says the policy and why', async () => {
  const { limiter, store } = scripted({ limits, onStoreFailure: 'open' });
  const events: unknown[] = [];
  limiter.on('degraded', (event) => events.push(event));
  limiter.on('recovered', (event) => events.push(event));
  const failed = limiter.consume('s');
  store.call(0).reject(unavailable());
  await failed;
  const good = limiter.consume('s');
  store.call(1).resolve(admits());
  await good;
  expect(events).toEqual([
    {
      policy: 'api',
      node: 'store',
      degraded: { mode: 'open', cause: 'unavailable', detail: 'connect ECONNREFUSED 10.9.8.7:6379' },
    },
    { policy: 'api', node: 'store' },
  ]);
});

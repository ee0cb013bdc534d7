import { type PolicyStore, type Store, StoreError, slidingWindow } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import type { StoreReply } from '../../../packages/comporta/src/stores/store.js';
import { FakeClock } from '../../support/fake-clock.js';

type Outcome = () => Promise<StoreReply>;

const ANSWER: StoreReply = { atUs: 1, numbers: [5, 0, 0, 0] };
const down: Outcome = () => Promise.reject(new StoreError('unavailable', 'connection refused'));
const up: Outcome = () => Promise.resolve(ANSWER);
const silent: Outcome = () => new Promise<never>(() => undefined);

/** A store of two nodes, `a` and `b`, by the first letter of the subject. */
class TwoNodes implements Store {
  readonly kind = 'redis';
  asked = 0;
  readonly suspected: string[] = [];
  readonly nodes: Record<string, Outcome> = { a: up, b: up };

  bind(): PolicyStore {
    const ask = (subject: string): Promise<StoreReply> => {
      this.asked++;
      return (this.nodes[subject[0] as string] as Outcome)();
    };
    return {
      consume: ask,
      peek: ask,
      refund: () => Promise.resolve(0),
      reset: () => Promise.resolve(0),
      shardOf: (subject) => subject[0] as string,
      suspect: (subject) => void this.suspected.push(subject),
    };
  }
  ping = () => Promise.resolve();
  ready = () => Promise.resolve();
  close = () => Promise.resolve();
}

function setUp() {
  const clock = new FakeClock();
  const store = new TwoNodes();
  const make = () =>
    wire({ policy: 'p', limits: slidingWindow({ limit: 5, window: '1s' }), store, onStoreFailure: 'open' }, clock);
  return { clock, store, make, limiter: make() };
}

describe('a dead node', () => {
  test('is not asked any more after three failures; its subjects are answered at once and say why', async () => {
    const { store, limiter } = setUp();
    store.nodes.a = down;
    for (let i = 0; i < 3; i++) expect((await limiter.consume('a1')).degraded?.cause).toBe('unavailable');
    const asked = store.asked;
    const decision = limiter.decide('a2');
    expect(decision).not.toBeInstanceOf(Promise);
    expect((await decision).degraded).toMatchObject({ mode: 'open', cause: 'breaker-open' });
    expect(store.asked).toBe(asked);
  });

  test('does not degrade subjects of other nodes', async () => {
    const { store, limiter } = setUp();
    store.nodes.a = down;
    for (let i = 0; i < 20; i++) {
      await limiter.consume('a1');
      expect((await limiter.consume('b1')).degraded).toBeUndefined();
    }
  });

  test('is looked for elsewhere, also while nobody may ask it', async () => {
    const { store, limiter } = setUp();
    store.nodes.a = down;
    for (let i = 0; i < 5; i++) await limiter.consume('a1');
    expect(store.suspected).toHaveLength(5);
  });

  test('is known to every limiter of the store', async () => {
    const { store, limiter, make } = setUp();
    store.nodes.a = down;
    for (let i = 0; i < 3; i++) await limiter.consume('a1');
    expect((await make().consume('a1')).degraded?.cause).toBe('breaker-open');
  });

  test('costs one probe at a time, and is used again as soon as a probe is answered', async () => {
    const { clock, store, limiter } = setUp();
    const states: string[] = [];
    limiter.on('breaker', ({ node, state }) => states.push(`${node} ${state}`));
    store.nodes.a = down;
    for (let i = 0; i < 3; i++) await limiter.consume('a1');
    clock.advance(130);
    store.nodes.a = up;
    const probe = limiter.consume('a1');
    expect((await limiter.consume('a1')).degraded?.cause).toBe('breaker-open');
    expect((await probe).degraded).toBeUndefined();
    expect((await limiter.consume('a1')).degraded).toBeUndefined();
    expect(states).toEqual(['a open', 'a halfOpen', 'a closed']);
  });
});

describe('what counts as a failure of the node', () => {
  test('silence for the whole time limit does', async () => {
    const { clock, store, limiter } = setUp();
    store.nodes.a = silent;
    for (let i = 0; i < 3; i++) {
      const calls = [limiter.consume('a1'), limiter.consume('a2')];
      clock.advance(50);
      for (const call of calls) expect((await call).degraded?.cause).toBe('timeout');
    }
    expect((await limiter.consume('a1')).degraded?.cause).toBe('breaker-open');
  });

  test('the impatience of a caller does not', async () => {
    const { clock, store, limiter } = setUp();
    store.nodes.a = silent;
    const calls = Array.from({ length: 10 }, () => limiter.consume('a1', { timeoutMs: 5 }));
    clock.advance(5);
    await Promise.all(calls);
    expect(limiter.decide('a1')).toBeInstanceOf(Promise);
  });

  test('a complaint that only a person can mend does not: the node answers', async () => {
    const { store, limiter } = setUp();
    store.nodes.a = () => Promise.reject(new StoreError('misconfigured', 'NOPERM this user has no permissions'));
    for (let i = 0; i < 20; i++) expect((await limiter.consume('a1')).degraded?.cause).toBe('misconfigured');
  });
});

test('a node that owes five thousand answers is given no more questions', async () => {
  const { store, limiter } = setUp();
  store.nodes.a = silent;
  const waiting = Array.from({ length: 5000 }, () => limiter.decide('a1'));
  expect(waiting.every((answer) => answer instanceof Promise)).toBe(true);
  expect((await limiter.consume('a1')).degraded?.cause).toBe('overloaded');
  expect((await limiter.consume('b1')).degraded).toBeUndefined();
  expect(store.asked).toBe(5001);
});

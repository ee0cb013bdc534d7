import { type LimiterOptions, type PolicyStore, type Store, StoreError, slidingWindow } from 'comporta';
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
  readonly warnings: string[] = [];
  readonly nodes: Record<string, Outcome> = { a: up, b: up };
  /** Nodes whose subjects live on another now. */
  readonly moved: Map<string, string> = new Map();

  bind(): PolicyStore {
    const nodeOf = (subject: string): string => this.moved.get(subject[0] as string) ?? (subject[0] as string);
    const ask = (subject: string): Promise<StoreReply> => {
      this.asked++;
      return (this.nodes[nodeOf(subject)] as Outcome)();
    };
    return {
      consume: ask,
      peek: ask,
      refund: () => Promise.resolve(0),
      reset: () => Promise.resolve(0),
      shardOf: nodeOf,
      suspect: (subject) => void this.suspected.push(subject),
    };
  }
  warn = (message: string) => void this.warnings.push(message);
  ping = () => Promise.resolve();
  ready = () => Promise.resolve();
  close = () => Promise.resolve();
}

function setUp() {
  const clock = new FakeClock();
  const store = new TwoNodes();
  const limits = slidingWindow({ limit: 5, window: '1s' });
  const make = (more: Partial<LimiterOptions> = {}) =>
    wire({ policy: 'p', limits, store, onStoreFailure: 'open', ...more }, clock);
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

describe('a policy that waits longer', () => {
  test('is served by a node that is too slow for another', async () => {
    const { clock, store, limiter, make } = setUp();
    const patient = make({ policy: 'patient', timeoutMs: 2000 });
    store.nodes.a = () => new Promise((resolve) => void clock.startTimer(300, () => resolve(ANSWER)));
    const causes: unknown[] = [];
    for (let i = 0; i < 10; i++) {
      const [hasty, served] = [limiter.consume('a1'), patient.consume('a1')];
      await clock.pass(60);
      const next = limiter.consume('a1');
      await clock.pass(340);
      causes.push((await hasty).degraded?.cause, (await next).degraded?.cause);
      expect((await served).degraded).toBeUndefined();
    }
    expect(causes.slice(0, 3)).toEqual(['timeout', 'timeout', 'timeout']);
    // Of two within 60 ms at most one is a probe.
    expect(causes.filter((cause) => cause === 'breaker-open').length).toBeGreaterThanOrEqual(8);
    expect(causes).not.toContain(undefined);
  });

  test('does not wait for a node that another found dead', async () => {
    const { store, limiter, make } = setUp();
    const patient = make({ policy: 'patient', timeoutMs: 2000 });
    expect((await patient.consume('a1')).degraded).toBeUndefined();
    store.nodes.a = down;
    for (let i = 0; i < 3; i++) await limiter.consume('a1');
    expect((await patient.consume('a1')).degraded?.cause).toBe('breaker-open');
  });
});

describe('what listeners hear of one dead node among healthy ones', () => {
  function listening() {
    const parts = setUp();
    const heard: string[] = [];
    parts.limiter.on('degraded', ({ policy, node }) => heard.push(`degraded ${policy} ${node}`));
    parts.limiter.on('recovered', ({ policy, node }) => heard.push(`recovered ${policy} ${node}`));
    return { ...parts, heard };
  }

  test('is one change, whatever the healthy ones answer meanwhile, and one when it is back', async () => {
    const { clock, store, limiter, heard } = listening();
    store.nodes.a = down;
    for (let i = 0; i < 50; i++) {
      await limiter.consume('a1');
      await limiter.consume('b1');
      clock.advance(100);
    }
    expect(heard).toEqual(['degraded p a']);
    store.nodes.a = up;
    clock.advance(1000);
    await limiter.consume('b1');
    expect(heard).toEqual(['degraded p a']);
    await limiter.consume('a1');
    expect(heard).toEqual(['degraded p a', 'recovered p a']);
  });

  test('ends when another node has taken over', async () => {
    const { store, limiter, heard } = listening();
    store.nodes.a = down;
    await limiter.consume('a1');
    store.moved.set('a', 'b');
    await limiter.consume('b1');
    expect(heard).toEqual(['degraded p a', 'recovered p a']);
  });

  test('is said once to who listens to nothing, however often the healthy ones answer', async () => {
    const { clock, store, limiter } = setUp();
    store.nodes.a = down;
    for (let i = 0; i < 50; i++) {
      await limiter.consume('a1');
      await limiter.consume('b1');
      clock.advance(100);
    }
    store.nodes.a = up;
    clock.advance(1000);
    await limiter.consume('a1');
    expect(store.warnings).toEqual([
      expect.stringMatching(/^the store does not answer: mode open decides for policy p/),
      'the store answers again',
    ]);
  });

  test('a key that only a person can mend tells once, beside others that are well', async () => {
    const { clock, store, limiter, heard } = listening();
    const configs: unknown[] = [];
    limiter.on('config', ({ policy, node, degraded }) => configs.push([policy, node, degraded.detail]));
    const wrong: Outcome = () => Promise.reject(new StoreError('misconfigured', 'WRONGTYPE'));
    for (let i = 0; i < 100; i++) {
      store.nodes.a = i % 2 === 0 ? wrong : up;
      await limiter.consume('a1');
      clock.advance(100);
    }
    expect(heard).toEqual(['degraded p a']);
    expect(configs).toEqual([['p', 'a', 'WRONGTYPE']]);
    clock.advance(1000);
    await limiter.consume('a1');
    expect(heard).toEqual(['degraded p a', 'recovered p a']);
  });
});

test('a node that owes five thousand answers is given no more questions', async () => {
  const { clock, store, limiter } = setUp();
  store.nodes.a = silent;
  const waiting = Array.from({ length: 5000 }, () => limiter.decide('a1'));
  expect(waiting.every((answer) => answer instanceof Promise)).toBe(true);
  expect((await limiter.consume('a1')).degraded?.cause).toBe('overloaded');
  expect((await limiter.consume('b1')).degraded).toBeUndefined();
  expect(store.asked).toBe(5001);
  // Some clients never tell what became of calls whose connection was lost.
  clock.advance(31_000);
  store.nodes.a = up;
  expect((await limiter.consume('a1')).degraded?.cause).toBe('overloaded');
  clock.advance(31_000);
  expect((await limiter.consume('a1')).degraded).toBeUndefined();
});

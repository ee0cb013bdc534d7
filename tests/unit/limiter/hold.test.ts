import {
  concurrency,
  type Decision,
  fixedWindow,
  type Limiter,
  type LimiterOptions,
  memoryStore,
  type Plan,
  type PolicyStore,
  type Store,
  slidingWindow,
  tokenBucket,
} from 'comporta';
import { faultyStore } from 'comporta/testing';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock } from '../../support/fake-clock.js';
import { refusalOf } from '../../support/refusal.js';

type Options = Partial<LimiterOptions>;

const window = (limit: number) => slidingWindow({ limit, window: '1s' });

/** A store that says what it was asked. */
function listening(store: Store, asked: string[]): Store {
  return {
    ...store,
    ...{ ready: store.ready.bind(store), ping: store.ping.bind(store), close: store.close.bind(store) },
    bind: (plan: Plan): PolicyStore => {
      const policy = store.bind(plan);
      return new Proxy(policy, {
        get: (target, name: keyof PolicyStore) => {
          const member = target[name];
          if (typeof member !== 'function' || name === 'shardOf') return member;
          return (...given: unknown[]) => {
            asked.push(name);
            return (member as (...all: unknown[]) => unknown).apply(target, given);
          };
        },
      });
    },
  };
}

function started(options: Options = {}) {
  const clock = new FakeClock();
  const faulty = faultyStore({ clock });
  const asked: string[] = [];
  const store = listening(faulty, asked);
  const limiter = wire({ policy: 'p', limits: window(2), store, ...options }, clock);
  return { clock, faulty, store, asked, limiter };
}

/** Takes all that there is, and what for; the refusal is the store's. */
async function refused(limiter: Limiter, cost = 2): Promise<Decision> {
  const taken = await limiter.consume('s', { cost });
  expect(taken.allowed).toBe(true);
  return taken;
}

describe('a refused subject', () => {
  test('is refused at once, without the store, until it may have room', async () => {
    const { clock, asked, limiter } = started({ hold: '1m' });
    await refused(limiter);
    expect(asked).toEqual(['consume']);
    clock.advance(300);
    const decision = limiter.decide('s') as Decision;
    expect(decision).not.toBeInstanceOf(Promise);
    expect(decision).toMatchObject({
      allowed: false,
      reason: 'limit-exceeded',
      retryAfterMs: 700,
      degraded: undefined,
    });
    expect(decision.binding).toMatchObject({ id: 'slidingWindow', remaining: 0, resetAfterMs: 700, nextAfterMs: 700 });
    expect(decision.atUs).toBe(clock.nowUs());
    expect((limiter.decide('s') as Decision).id).not.toBe(decision.id);
    clock.advance(699);
    expect(limiter.decide('s')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    expect(asked).toEqual(['consume']);
    clock.advance(1);
    expect((await limiter.decide('s')).allowed).toBe(true);
    expect(asked).toEqual(['consume', 'consume']);
  });

  test('is asked for again after 20 ms, whatever its wait, or after the time that was set', async () => {
    for (const [hold, ms] of [[undefined, 20] as const, [5, 5] as const]) {
      const { clock, asked, limiter } = started(hold === undefined ? {} : { hold });
      await refused(limiter);
      clock.advance(ms - 1);
      expect(limiter.decide('s')).not.toBeInstanceOf(Promise);
      clock.advance(1);
      expect((await limiter.decide('s')).allowed).toBe(false);
      expect(asked).toHaveLength(2);
    }
  });

  test('may ask for less: what is there is given', async () => {
    const { asked, limiter } = started({ limits: window(5) });
    await refused(limiter, 3);
    expect((await limiter.consume('s', { cost: 4 })).allowed).toBe(false);
    expect(limiter.decide('s', { cost: 4 })).toMatchObject({ allowed: false, cost: 4 });
    expect((await limiter.consume('s', { cost: 2 })).allowed).toBe(true);
    expect(asked).toHaveLength(3);
  });

  test('asks the store for a cost whose wait was not told', async () => {
    const limits = tokenBucket({ capacity: 10, refill: 1, every: 1000 });
    const { asked, limiter } = started({ limits });
    await refused(limiter, 8);
    for (const [cost, retryAfterMs] of [[3, 1000] as const, [5, 3000] as const, [11, null] as const]) {
      expect(await limiter.consume('s', { cost })).toMatchObject({ allowed: false, retryAfterMs });
    }
    expect(asked).toHaveLength(2);
    expect(limiter.decide('s', { cost: 3 })).toMatchObject({ retryAfterMs: 1000 });
    expect(limiter.decide('s', { cost: 11 })).toMatchObject({ reason: 'cost-exceeds-limit', retryAfterMs: null });
  });

  test('counts in events as any other', async () => {
    const { limiter } = started();
    const [decided, denied]: [string[], string[]] = [[], []];
    limiter.on('decision', ({ decision, durationMs }) => decided.push(`${decision.reason} ${typeof durationMs}`));
    limiter.on('denied', ({ decision, shadow }) => denied.push(`${decision.reason} ${shadow}`));
    await refused(limiter);
    limiter.decide('s');
    limiter.decide('s', { shadow: true });
    expect(decided).toEqual(['undefined number', 'limit-exceeded number', 'limit-exceeded number']);
    expect(denied).toEqual(['limit-exceeded false', 'limit-exceeded true']);
  });

  test('who waits for it gets through when there is room', async () => {
    const { clock, asked, limiter } = started({ limits: window(1), hold: '1m' });
    await refused(limiter, 1);
    const waiting = limiter.wait('s');
    await clock.pass(999);
    expect(asked).toHaveLength(1);
    await clock.pass(1);
    expect((await waiting).allowed).toBe(true);
  });
});

describe('the time of a hold', () => {
  test('begins when the question was sent; the wait that is told ends no sooner than the first one did', async () => {
    const { clock, faulty, limiter } = started({ limits: fixedWindow({ limit: 1, window: '1h', align: 'first-hit' }) });
    faulty.slow(15);
    const first = limiter.consume('s');
    await clock.pass(15);
    expect((await first).allowed).toBe(true);
    await clock.pass(4);
    const held = limiter.decide('s') as Decision;
    expect(held.retryAfterMs).toBe(3_600_000 - 4);
    await clock.pass(1);
    expect(limiter.decide('s')).toBeInstanceOf(Promise);
  });

  test('ends when the clock steps back', async () => {
    const { clock, limiter } = started();
    await refused(limiter);
    clock.advance(-1);
    expect(limiter.decide('s')).toBeInstanceOf(Promise);
  });
});

type Given = (limiter: Limiter, taken: Decision) => Promise<unknown>;

describe('a subject that gets room in this process', () => {
  const blocked = { blocks: true as const };
  const changes: readonly [string, Options, Given, Given?][] = [
    ['by a refund', {}, (limiter, taken) => limiter.refund(taken)],
    ['by a refund of a part', {}, (limiter, taken) => limiter.refund(taken, 1)],
    ['by a reward', {}, (limiter) => limiter.reward('s')],
    ['by a reset', {}, (limiter) => limiter.reset('s')],
    ['by an end of its block', blocked, (limiter) => limiter.unblock('s'), (limiter) => limiter.block('s', '1h')],
    ['by an override', { overrides: true }, (limiter) => limiter.setOverride('s', { limits: [window(9)] }, '1h')],
  ];

  test.each(changes)('%s has it at once, even before the answer to the change', async (_, options, change, before) => {
    const { limiter } = started(options);
    const taken = before === undefined ? await refused(limiter) : await limiter.consume('other');
    await before?.(limiter, taken);
    expect((await limiter.consume('s')).allowed).toBe(false);
    expect(limiter.decide('s')).not.toBeInstanceOf(Promise);
    const changed = change(limiter, taken);
    const following = limiter.decide('s');
    expect(following).toBeInstanceOf(Promise);
    await changed;
    const both = [await following, await limiter.consume('s')];
    expect(both.some(({ allowed }) => allowed)).toBe(true);
  });

  test.each([
    ['settled with less', 1],
    ['cancelled', 0],
  ])('by a reservation that is %s has it at once', async (_, cost) => {
    const { limiter } = started();
    const reservation = await limiter.reserve('s', { cost: 2 });
    expect((await limiter.consume('s')).allowed).toBe(false);
    expect(limiter.decide('s')).not.toBeInstanceOf(Promise);
    await limiter.settle(reservation, cost);
    expect((await limiter.consume('s')).allowed).toBe(true);
  });

  test('by another limiter of the policy has it at once', async () => {
    const { clock, store, limiter } = started();
    const other = wire({ policy: 'p', limits: window(2), store }, clock);
    const taken = await refused(limiter);
    expect(limiter.decide('s')).not.toBeInstanceOf(Promise);
    await other.refund(taken);
    expect((await limiter.consume('s')).allowed).toBe(true);
  });

  test('in another process has it after 20 ms at the latest', async () => {
    const { clock, store, limiter } = started();
    const other = wire({ policy: 'p', limits: window(2), store: { ...store } }, clock);
    await refused(limiter);
    await other.reset('s');
    clock.advance(19);
    expect(limiter.decide('s')).toMatchObject({ allowed: false });
    clock.advance(1);
    expect((await limiter.consume('s')).allowed).toBe(true);
  });
});

describe('the store is asked', () => {
  test.each<[string, Options]>([
    ['where hold is false', { hold: false }],
    ['where places are limited', { limits: [concurrency({ limit: 9, lease: '1m' }), window(2)] }],
    ['where refusals are counted', { blocks: { after: 50, within: '1m', lasts: '1m' } }],
  ])('always %s', async (_, options) => {
    const { asked, limiter } = started(options);
    await refused(limiter);
    for (let i = 0; i < 3; i++) expect((await limiter.consume('s')).allowed).toBe(false);
    expect(asked).toHaveLength(4);
  });

  test('always where it is memory', async () => {
    const [clock, asked]: [FakeClock, string[]] = [new FakeClock(), []];
    const limiter = wire({ policy: 'p', limits: window(2), store: listening(memoryStore({ clock }), asked) }, clock);
    await refused(limiter);
    for (let i = 0; i < 3; i++) expect(limiter.decide('s')).toMatchObject({ allowed: false });
    expect(asked).toHaveLength(4);
  });

  test('for a look, for as much as there is, and for a reservation', async () => {
    const { asked, limiter } = started();
    await refused(limiter);
    expect((await limiter.peek('s')).allowed).toBe(false);
    expect((await limiter.consumeUpTo('s', 1)).allowed).toBe(false);
    expect((await limiter.reserve('s')).allowed).toBe(false);
    expect(asked).toEqual(['consume', 'peek', 'act', 'act']);
  });

  test('after an answer that it did not give', async () => {
    const { clock, faulty, asked, limiter } = started({ onStoreFailure: 'closed' });
    faulty.down();
    for (let i = 0; i < 2; i++) expect((await limiter.consume('s')).degraded?.mode).toBe('closed');
    expect(asked).toEqual(['consume', 'consume']);
    faulty.up();
    clock.advance(1000);
    expect((await limiter.consume('s')).allowed).toBe(true);
  });

  test('under the limits of another plan', async () => {
    const { limiter } = started({ plans: { pro: window(9) } });
    await refused(limiter);
    expect(limiter.decide('s')).not.toBeInstanceOf(Promise);
    expect((await limiter.consume('s', { plan: 'pro' })).allowed).toBe(true);
    expect(await limiter.consume('s')).toMatchObject({ allowed: false });
  });
});

describe('hold', () => {
  test.each([
    ['0', 0],
    ['0.5', 0.5],
    ['half a millisecond', '0.5ms'],
    ['true', true],
    ['a minute and more', '61s'],
    ['no duration', 'soon'],
    ['null', null],
  ])('%s is refused', (_, hold) => {
    const text = expect.stringMatching(/^hold: expected false, or .* 1 ms to 60 s .*, got /);
    expect(refusalOf(() => started({ hold: hold as never }))).toMatchObject({
      code: 'ERR_OPTION',
      field: 'hold',
      text,
    });
  });

  test('an aborted call is not answered from it', async () => {
    const { limiter } = started();
    await refused(limiter);
    expect(limiter.decide('s', { signal: AbortSignal.abort() })).toMatchObject({ degraded: { cause: 'aborted' } });
  });
});

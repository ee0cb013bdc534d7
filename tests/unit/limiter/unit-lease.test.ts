import {
  concurrency,
  type Decision,
  fixedWindow,
  type Limiter,
  type LimiterOptions,
  leaseBounds,
  type Store,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { refusalOf } from '../../support/refusal.js';
import { type AskedOf, memoryOf, remoteStore } from './remote.js';

const lease = { maxOvershoot: '10%', lasts: 100 } as const;

interface Started {
  readonly clock: FakeClock;
  readonly limiter: Limiter;
  readonly store: Store;
  /** Looks into the store itself. */
  readonly there: Limiter;
  /** What the store was asked since it was looked at last: `consume 1`, `take 3`, `refund 2`. */
  asked(): string[];
  /** How long a question is on its way from now on. */
  delay(ms: number): void;
}

function wordsOf({ operation, given }: AskedOf): string {
  const [first, second] = given as [{ kind: string; cost: number; amount: number }, number];
  if (operation === 'act') return `${first.kind} ${first.cost}`;
  return operation === 'refund' ? `refund ${first.amount}` : `${operation} ${second}`;
}

function started(options: Partial<LimiterOptions> = {}, peers: number | 'unknown' = 1): Started {
  const clock = new FakeClock();
  const memory = memoryOf(clock);
  let [wayMs, words]: [number, string[]] = [0, []];
  const store = remoteStore(memory, clock, {
    wayMs: () => wayMs,
    peers: () => (peers === 'unknown' ? undefined : peers),
    onAsked: (asked) => words.push(wordsOf(asked)),
  });
  const settings = { policy: 'p', limits: slidingWindow({ limit: 400, window: '1s' }), ...options };
  const { policy, limits, blocks } = settings;
  return {
    clock,
    store,
    limiter: wire({ lease, store, ...settings }, clock),
    there: wire({ policy, limits, ...(blocks && { blocks }), store: memory }, clock),
    asked: () => words.splice(0),
    delay: (ms) => {
      wayMs = ms;
    },
  };
}

/** Decides that often, one after the other. */
async function ask(limiter: Limiter, times: number, cost = 1): Promise<Decision[]> {
  const decisions: Decision[] = [];
  for (let i = 0; i < times; i++) decisions.push(await limiter.decide('hot', { cost }));
  return decisions;
}

const used = async (there: Limiter): Promise<number> => 400 - ((await there.peek('hot')).binding?.remaining ?? 0);

describe('a hot subject', () => {
  test('is decided for without the store, by leases that double while they are used up', async () => {
    const { limiter, asked } = started();
    const decisions = await ask(limiter, 100);
    expect(asked()).toEqual(['consume 1', 'take 3', 'take 5', 'take 9', 'take 17', 'take 33', 'take 41']);
    expect(decisions.every(({ allowed }) => allowed)).toBe(true);
    expect(new Set(decisions.map(({ id }) => id)).size).toBe(100);
  });

  test('gets answers at once, with the numbers of somebody who asks alone', async () => {
    const { limiter } = started();
    const decisions = await ask(limiter, 60);
    expect(decisions.map(({ binding }) => binding?.remaining)).toEqual(Array.from({ length: 60 }, (_, i) => 399 - i));
    const decision = limiter.decide('hot') as Decision;
    expect(decision).not.toBeInstanceOf(Promise);
    expect(decision).toMatchObject({ allowed: true, cost: 1, retryAfterMs: 0, degraded: undefined, reason: undefined });
  });

  test('asks the store once for all who wait', async () => {
    const { limiter, clock, asked, delay } = started();
    await ask(limiter, 4);
    asked();
    delay(5);
    const waiting = Promise.all(Array.from({ length: 30 }, () => limiter.consume('hot')));
    for (let i = 0; i < 4; i++) await clock.pass(5);
    expect((await waiting).every(({ allowed }) => allowed)).toBe(true);
    expect(asked()).toEqual(['take 5', 'take 33']);
  });

  test('is refused by the store alone, in its words, and what is left is admitted first', async () => {
    const { limiter, asked } = started({ limits: slidingWindow({ limit: 40, window: '1s' }) });
    const decisions = await ask(limiter, 41);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(40);
    expect(decisions.at(-1)).toMatchObject({ allowed: false, retryAfterMs: 1000, binding: { remaining: 0 } });
    expect(asked().at(-1)).toMatch(/^take/);
  });

  test('that cools down has no lease, and no timer, any more; what was left is given back', async () => {
    const { limiter, there, clock, asked } = started();
    await ask(limiter, 20);
    expect(await used(there)).toBe(1 + 3 + 5 + 9 + 17);
    await clock.pass(200);
    expect(await used(there)).toBe(20);
    expect(asked().at(-1)).toBe('refund 15');
    expect(clock.timers).toBe(0);
    await ask(limiter, 1);
    expect(asked()).toEqual(['consume 1']);
  });

  test('with a steady need has leases of about that size', async () => {
    const { limiter, clock, asked } = started({ lease: { maxOvershoot: '50%', lasts: 100 } });
    for (let i = 0; i < 100; i++) {
      await ask(limiter, 1);
      await clock.pass(10);
    }
    const takes = asked().filter((words) => words.startsWith('take'));
    expect(takes.length).toBeLessThan(20);
    expect(takes.slice(-4).every((words) => Number(words.slice(5)) <= 21)).toBe(true);
  });

  test('is not one that is asked for now and then', async () => {
    const { limiter, clock, asked } = started();
    for (let i = 0; i < 10; i++) {
      await ask(limiter, 1);
      await clock.pass(101);
    }
    expect(asked()).toEqual(Array(10).fill('consume 1'));
    expect(clock.timers).toBe(0);
  });
});

describe('there is no lease', () => {
  test.each([
    ['where the part of a process is below 2', { lease }, 30],
    ['while it is not known how many there are', { lease }, 'unknown' as const],
    ['for a number that is too small for the processes', { lease: { maxOvershoot: 5 } }, 3],
    ['where none is asked for', { lease: undefined }, 1],
  ])('%s', async (_, { lease: given }, peers) => {
    const { limiter, asked } = started({ ...(given && { lease: given }) }, peers);
    if (given === undefined) return;
    await ask(limiter, 20);
    expect(new Set(asked())).toEqual(new Set(['consume 1']));
  });

  test('for costs above the part', async () => {
    const { limiter, asked } = started({}, 10);
    await ask(limiter, 5, 5);
    expect(new Set(asked())).toEqual(new Set(['consume 5']));
  });

  test('for a second limiter of the same policy and store, until the first is closed', async () => {
    const { limiter, store, clock, asked } = started();
    const second = wire({ policy: 'p', limits: limiter.limits[0] ?? [], store, lease }, clock);
    await ask(limiter, 3);
    asked();
    await ask(second, 3);
    expect(asked()).toEqual(Array(3).fill('consume 1'));
    await limiter.close();
    asked();
    await ask(second, 3);
    expect(asked()[0]).toMatch('take');
  });

  test('where requests are isolated: one must not wait for what another began', async () => {
    Reflect.set(globalThis, 'EdgeRuntime', 'edge');
    const { limiter, asked } = started();
    Reflect.deleteProperty(globalThis, 'EdgeRuntime');
    await ask(limiter, 5);
    expect(asked()).toEqual(Array(5).fill('consume 1'));
  });

  test('for more than a thousand subjects', async () => {
    const { limiter, clock, asked } = started({ limits: slidingWindow({ limit: 100_000, window: '1s' }) });
    const askAll = () => Promise.all(Array.from({ length: 1400 }, (_, i) => limiter.consume(`s${i}`)));
    for (let i = 0; i < 2; i++) await askAll();
    const asks = asked();
    expect(asks.filter((words) => words === 'take 3')).toHaveLength(1000);
    expect(asks.filter((words) => words === 'consume 1')).toHaveLength(1400 + 400);
    await clock.pass(300);
    expect(clock.timers).toBe(0);
  });

  test('over memory, where it changes nothing', async () => {
    const clock = new FakeClock();
    const limits = slidingWindow({ limit: 4, window: 100 });
    const limiter = wire({ policy: 'p', limits, store: memoryOf(clock), lease: { ...lease, strict: true } }, clock);
    await ask(limiter, 4);
    clock.advance(100);
    expect((await limiter.consume('hot')).allowed).toBe(true);
    expect(clock.timers).toBe(0);
  });
});

describe('units of a lease', () => {
  test('are used for as long as it lasts, counted from when they were asked for', async () => {
    const { limiter, there, clock, delay } = started();
    await ask(limiter, 4);
    delay(40);
    const asking = limiter.consume('hot');
    await clock.pass(40);
    await asking;
    await clock.pass(59);
    expect(limiter.decide('hot')).not.toBeInstanceOf(Promise);
    clock.advance(1);
    delay(0);
    const late = limiter.decide('hot');
    expect(late).toBeInstanceOf(Promise);
    await late;
    await clock.pass(300);
    expect(await used(there)).toBe(7);
  });

  test('that come too late are given back', async () => {
    const { limiter, there, clock, delay } = started({ timeoutMs: 1000 });
    await ask(limiter, 4);
    delay(100);
    const asking = limiter.consume('hot');
    await clock.pass(100);
    expect((await asking).allowed).toBe(true);
    delay(0);
    await clock.pass(300);
    expect(await used(there)).toBe(5);
  });

  test('end with a fixed window', async () => {
    const { limiter, clock } = started({ limits: fixedWindow({ limit: 400, window: '1s', align: 'first-hit' }) });
    await ask(limiter, 1);
    clock.advance(950);
    await ask(limiter, 5);
    clock.advance(48);
    expect(limiter.decide('hot')).not.toBeInstanceOf(Promise);
    clock.advance(1);
    expect(limiter.decide('hot')).toBeInstanceOf(Promise);
    await clock.pass(300);
  });

  test('are seen by a look, which takes none', async () => {
    const { limiter } = started({ limits: slidingWindow({ limit: 20, window: '1s' }), lease: { maxOvershoot: 18 } });
    const last = (await ask(limiter, 18)).at(-1);
    for (let i = 0; i < 3; i++) {
      expect(await limiter.peek('hot')).toMatchObject({
        allowed: true,
        binding: { remaining: last?.binding?.remaining },
      });
    }
    expect((await ask(limiter, 3)).map(({ allowed }) => allowed)).toEqual([true, true, false]);
  });

  test('are given back when the limiter is closed', async () => {
    const { limiter, there, clock } = started();
    await ask(limiter, 20);
    await limiter.close();
    expect(await used(there)).toBe(20);
    expect(clock.timers).toBe(0);
  });

  test('are gone after a reset, and only what is fetched anew is given back', async () => {
    const { limiter, there, clock, asked } = started();
    await ask(limiter, 20);
    await limiter.reset('hot');
    asked();
    expect(limiter.decide('hot')).toBeInstanceOf(Promise);
    await clock.pass(300);
    expect(asked().filter((words) => words.startsWith('refund'))).toEqual(['refund 2']);
    expect(await used(there)).toBe(1);
  });

  test('are given back when the subject is blocked, which is heard at once here', async () => {
    const { limiter, there } = started({ blocks: true });
    await ask(limiter, 20);
    await limiter.block('hot', '1m');
    expect(await limiter.consume('hot')).toMatchObject({ allowed: false, reason: 'blocked' });
    await limiter.unblock('hot');
    expect(await used(there)).toBe(20);
  });

  test('are used after another process has blocked the subject, until the lease ends and no longer', async () => {
    const { limiter, there, clock } = started({ blocks: true });
    await ask(limiter, 20);
    await there.block('hot', '1m');
    await clock.pass(99);
    expect(limiter.decide('hot')).toMatchObject({ allowed: true });
    await clock.pass(1);
    expect(await limiter.consume('hot')).toMatchObject({ allowed: false, reason: 'blocked' });
    await clock.pass(300);
  });

  test('that were used can be refunded, each once', async () => {
    const { limiter, there, clock } = started();
    const decisions = await ask(limiter, 20);
    const local = decisions.at(-1) as Decision;
    expect(await Promise.all([limiter.refund(local), limiter.refund(local)])).toEqual([true, false]);
    expect(await limiter.refund(decisions.at(-2) as Decision)).toBe(true);
    await clock.pass(300);
    expect(await used(there)).toBe(18);
  });

  test('are told of at the end of each lease', async () => {
    const { limiter } = started();
    const events: unknown[] = [];
    limiter.on('lease', ({ policy, ...event }) => events.push(event));
    let decided = 0;
    limiter.on('decision', () => decided++);
    await ask(limiter, 10);
    await limiter.close();
    expect(events).toEqual([
      { units: 2, unused: 0 },
      { units: 4, unused: 0 },
      { units: 8, unused: 8 },
    ]);
    expect(decided).toBe(10);
  });
});

describe('costs above 1', () => {
  test('are taken from a lease that has enough, else of the store with a new one', async () => {
    const { limiter, there, clock, asked } = started();
    const decisions = await ask(limiter, 12, 5);
    expect(decisions.every(({ allowed }) => allowed)).toBe(true);
    expect(asked().length).toBeLessThan(12);
    await clock.pass(300);
    expect(await used(there)).toBe(60);
  });

  test('that do not fit get the words of the store, which has back what was taken for them', async () => {
    const { limiter, there } = started({
      limits: slidingWindow({ limit: 40, window: '1s' }),
      lease: { maxOvershoot: 20 },
    });
    const decisions = await ask(limiter, 9, 5);
    const last = await limiter.consume('hot', { cost: 3 });
    expect(decisions.map(({ allowed }) => allowed)).toEqual([...Array(8).fill(true), false]);
    expect(last).toMatchObject({ allowed: false, cost: 3, retryAfterMs: 1000, binding: { remaining: 0 } });
    expect(await used(there)).toBe(400);
  });
});

describe('a store that fails', () => {
  test('ends no lease, and grants none: after it the failure mode decides', async () => {
    const { limiter, clock, delay } = started({ timeoutMs: 20, onStoreFailure: 'closed' });
    await ask(limiter, 4);
    await ask(limiter, 1);
    delay(10_000);
    const decisions = [1, 2, 3, 4, 5].map(() => limiter.decide('hot'));
    expect(decisions.map((decision) => decision instanceof Promise)).toEqual([false, false, false, false, true]);
    const waiting = Promise.all([decisions.at(-1), limiter.consume('hot')]);
    await clock.pass(20);
    for (const decision of await waiting) {
      expect(decision).toMatchObject({ allowed: false, degraded: { mode: 'closed', cause: 'timeout' } });
    }
  });

  test('holds nobody up for longer than the time limit, whoever waits for whom', async () => {
    const { limiter, clock, delay } = started({ timeoutMs: 20, onStoreFailure: 'open' });
    await ask(limiter, 4);
    delay(10_000);
    const settled: number[] = [];
    const startUs = clock.nowUs();
    for (let i = 0; i < 10; i++) {
      const askedUs = clock.nowUs();
      void limiter.consume('hot').then(() => settled.push((clock.nowUs() - askedUs) / 1000));
      await clock.pass(3);
    }
    await clock.pass(100);
    expect(settled).toHaveLength(10);
    expect(Math.max(...settled)).toBeLessThanOrEqual(20);
    delay(0);
    await flush();
    await clock.pass(1000);
    const decision = limiter.consume('hot');
    await clock.pass(1);
    expect((await decision).degraded).toBeUndefined();
    expect(clock.nowUs()).toBeGreaterThan(startUs);
  });
});

describe('what is strict', () => {
  test('counts for as much longer as a lease lasts', async () => {
    const { limiter, clock } = started({
      limits: slidingWindow({ limit: 4, window: '1s' }),
      lease: { maxOvershoot: 2, lasts: 100, strict: true },
    });
    const [decision] = await ask(limiter, 4);
    expect(decision?.limits[0]).toMatchObject({ windowMs: 1000, limit: 4, resetAfterMs: 1100 });
    await clock.pass(1099);
    expect((await limiter.consume('hot')).retryAfterMs).toBe(1);
    await clock.pass(1);
    expect((await limiter.consume('hot')).allowed).toBe(true);
  });
});

describe('settings', () => {
  const of = (options: Partial<LimiterOptions>) => () => started(options).limiter;

  test('a number of processes is of use in every failure mode', () => {
    const { limiter } = started({ instances: 4, onStoreFailure: 'closed' });
    expect(limiter.leaseBounds).toEqual([{ id: 'slidingWindow', units: 40 }]);
  });

  test('the bound of a limit is that of the plan with the most', () => {
    const limits = slidingWindow({ limit: 10, window: '1m' });
    const plans = { pro: slidingWindow({ limit: 10_000, window: '1m' }) };
    const { limiter } = started({ limits, plans, instances: 1 });
    expect(limiter.leaseBounds).toEqual([{ id: 'slidingWindow', units: Math.floor(10_000 * 0.1) }]);
  });

  test.each([
    ['lease', { lease: true as never }],
    ['lease.maxOvershoot', { lease: { maxOvershoot: '5' } }],
    ['lease.maxOvershoot', { lease: { maxOvershoot: '101%' } }],
    ['lease.maxOvershoot', { lease: { maxOvershoot: '0%' } }],
    ['lease.maxOvershoot', { lease: { maxOvershoot: 1 } }],
    ['lease.maxOvershoot', { lease: {} as never }],
    ['lease.lasts', { lease: { ...lease, lasts: '2s' as const } }],
    ['lease.lasts', { lease: { ...lease, lasts: 9 } }],
    ['lease.last', { lease: { ...lease, last: 9 } as never }],
    ['lease.strict', { lease: { ...lease, strict: 'yes' as never } }],
    ['lease', { limits: concurrency({ limit: 400 }) }],
    ['lease', { plans: { pro: concurrency({ limit: 400 }) } }],
    ['lease', { overrides: true }],
    ['lease', { revision: 1 }],
    ['lease', { blocks: { after: 2, within: '1s', lasts: '1s' } as const }],
    [
      'lease.strict',
      { limits: tokenBucket({ capacity: 9, refill: 9, every: '1s' }), lease: { ...lease, strict: true } },
    ],
    ['lease.strict', { limits: slidingWindowCounter({ limit: 9, window: 9 }), lease: { ...lease, strict: true } }],
  ])('%s of %j is refused', (field, options) => {
    expect(refusalOf(of(options))).toMatchObject({ code: 'ERR_OPTION', field });
  });

  test.each([
    ['places', concurrency({ limit: 1000 }), {}],
    ['a bucket that is strict', tokenBucket({ capacity: 1000, refill: 9, every: '1s' }), { strict: true }],
    ['a strict counter', slidingWindowCounter({ limit: 1000, window: '1s' }), { strict: true }],
    ['too much', slidingWindow({ limit: 1000, window: '1s' }), { maxOvershoot: '101%' }],
  ])('the bounds of %s are refused as the limiter is', (_, limits, more) => {
    const given = { ...lease, ...more };
    const refused = refusalOf(() => leaseBounds(limits, given));
    expect(refused).toMatchObject({ code: 'ERR_OPTION', text: expect.stringMatching(/^lease/) });
    expect(refused).toEqual(refusalOf(of({ limits, lease: given })));
    const plans = { pro: limits };
    if (!('maxOvershoot' in more)) expect(refusalOf(of({ plans, lease: given })).text).toContain(' of plan "pro"');
  });

  test.each([
    ['a sliding window', slidingWindow({ limit: 1000, window: '1m' }), {}, 50],
    ['a strict one', slidingWindow({ limit: 1000, window: '1m' }), { strict: true }, 0],
    ['a fixed window', fixedWindow({ limit: 1000, window: '1m' }), {}, 0],
    ['a slow bucket', tokenBucket({ capacity: 1000, refill: 100, every: '1s' }), {}, 10],
    ['a fast bucket', tokenBucket({ capacity: 1000, refill: 10_000, every: '1s' }), {}, 50],
    ['a number of units', slidingWindow({ limit: 1000, window: '1m' }), { maxOvershoot: 30 }, 30],
    ['a limit that is too small for leases', slidingWindow({ limit: 10, window: '1m' }), {}, 0],
  ])('%s has its bound', (_, limits, more, units) => {
    const { limiter } = started({ limits, lease: { maxOvershoot: '5%', ...more } });
    expect(limiter.leaseBounds).toEqual([{ id: limiter.limits[0]?.id, units }]);
  });
});

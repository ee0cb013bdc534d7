import { type Decision, type Limit, memoryStore, type Plan, type Store, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { WaitingRoom } from '../../../packages/comporta/src/limiter/wait.js';
import type { StoreReply } from '../../../packages/comporta/src/stores/store.js';
import { FakeClock } from '../../support/fake-clock.js';

const bucket = tokenBucket({ capacity: 5, refill: 10, every: '1s' });

interface Asked {
  readonly subject: string;
  readonly atMs: number;
  readonly retryAfterMs: number;
}

/** A memory store that notes when it was asked to consume and what it said. */
function noting(clock: FakeClock, asked: Asked[]): Store {
  const inner = memoryStore({ clock });
  const bind = (plan: Plan) => {
    const bound = inner.bind(plan);
    return {
      consume: (subject: string, cost: number) => {
        const reply = bound.consume(subject, cost) as StoreReply;
        asked.push({ subject, atMs: clock.nowUs() / 1000, retryAfterMs: reply.numbers[1] ?? 0 });
        return reply;
      },
      peek: bound.peek.bind(bound),
      refund: bound.refund.bind(bound),
      reset: bound.reset.bind(bound),
    };
  };
  return { ...inner, bind };
}

function waiting(limits: Limit = bucket, options: { readonly maxWaiters?: number } = {}) {
  const [clock, asked] = [new FakeClock(), [] as Asked[]];
  const limiter = wire({ policy: 'api', limits, store: noting(clock, asked), ...options }, clock);
  const startMs = clock.nowUs() / 1000;
  const sinceStart = () => clock.nowUs() / 1000 - startMs;
  const served: { name: number; atMs: number; decision: Decision }[] = [];
  /** Starts a wait and notes when it ended. */
  const join = (name: number, given: Parameters<typeof limiter.wait>[1] = {}, subject = 's') =>
    limiter
      .wait(subject, { maxWaitMs: Number.POSITIVE_INFINITY, ...given })
      .then((decision) => void served.push({ name, atMs: sinceStart(), decision }));
  return { clock, asked, limiter, served, join, sinceStart };
}

describe('a thousand waiters of one subject', () => {
  test('are all admitted in order of coming, each at the exact moment that the bucket allows', async () => {
    const { clock, asked, limiter, served, join } = waiting();
    const all = Array.from({ length: 1000 }, (_, name) => join(name));
    expect(clock.timers).toBe(1);
    await clock.pass(99_500);
    await Promise.all(all);
    expect(served.map(({ name }) => name)).toEqual(Array.from({ length: 1000 }, (_, name) => name));
    expect(served.map(({ atMs }) => atMs)).toEqual(
      Array.from({ length: 1000 }, (_, name) => Math.max(0, (name - 4) * 100)),
    );
    expect(served.every(({ decision }) => decision.allowed && decision.degraded === undefined)).toBe(true);
    // Nobody asks before the moment that the store named, and nobody asks for nothing.
    for (const [i, { atMs, retryAfterMs }] of asked.entries()) {
      const next = asked[i + 1];
      if (next !== undefined) expect(next.atMs).toBe(atMs + retryAfterMs);
    }
    expect(asked.filter(({ retryAfterMs }) => retryAfterMs > 0).length).toBe(995);
    expect(clock.timers).toBe(0);
    await limiter.close();
  });

  test('take what an exact window allows, window by window', async () => {
    const { clock, served, join } = waiting(slidingWindow({ limit: 100, window: '1m' }));
    const all = Array.from({ length: 1000 }, (_, name) => join(name));
    await clock.pass(9 * 60_000);
    await Promise.all(all);
    expect(served.map(({ atMs }) => atMs)).toEqual(
      Array.from({ length: 1000 }, (_, name) => Math.floor(name / 100) * 60_000),
    );
  });

  test('a third that gives up frees its places, and the others move up', async () => {
    const { clock, served, join } = waiting();
    const leaving = new AbortController();
    const reason = new Error('no longer wanted');
    const gone: number[] = [];
    const all = Array.from({ length: 999 }, (_, name) => {
      if (name % 3 !== 0) return join(name);
      return join(name, { signal: leaving.signal }).catch((error) => {
        expect(error).toBe(reason);
        gone.push(name);
      });
    });
    await clock.pass(1000);
    leaving.abort(reason);
    await clock.pass(65_600);
    await Promise.all(all);
    expect(gone.length + served.length).toBe(999);
    const names = served.map(({ name }) => name);
    expect(names).toEqual(names.toSorted((a, b) => a - b));
    // Fifteen had passed by then; after that one passes every 100 ms until all are through.
    expect(served.map(({ atMs }) => atMs)).toEqual(served.map((_, i) => Math.max(0, (i - 4) * 100)));
    expect(clock.timers).toBe(0);
  });
});

test('a small request does not overtake a large one of the same subject, another subject is not held up', async () => {
  const { clock, served, join } = waiting();
  const all = [join(1, { cost: 5 }), join(2, { cost: 5 }), join(3, { cost: 1 }), join(4, { cost: 5 }, 't')];
  await clock.pass(600);
  await Promise.all(all);
  expect(served.map(({ name, atMs }) => [name, atMs])).toEqual([
    [1, 0],
    [4, 0],
    [2, 500],
    [3, 600],
  ]);
});

describe('a wait that cannot fit', () => {
  test('is refused at once with the wait that it would take', async () => {
    const { clock, limiter } = waiting();
    await limiter.consume('s', { cost: 5 });
    expect(await limiter.wait('s', { maxWaitMs: 99 })).toMatchObject({
      allowed: false,
      reason: 'limit-exceeded',
      retryAfterMs: 100,
    });
    expect(clock.timers).toBe(0);
    const fits = limiter.wait('s', { maxWaitMs: 100 });
    expect(clock.timers).toBe(1);
    await clock.pass(100);
    expect(await fits).toMatchObject({ allowed: true });
  });

  test('is refused at once when those ahead take all the time there is, without asking the store', async () => {
    const { asked, join, limiter } = waiting(slidingWindow({ limit: 10, window: '1s' }));
    for (let name = 0; name < 100; name++) void join(name);
    const before = asked.length;
    const refused = await limiter.wait('s', { maxWaitMs: 5000 });
    expect(refused).toMatchObject({ allowed: false, reason: 'limit-exceeded', cost: 1, degraded: undefined });
    expect(refused.retryAfterMs).toBeGreaterThan(5000);
    expect(asked.length).toBe(before);
  });

  test('ends when it turns out that the time is not enough, and never after it', async () => {
    const { clock, served, join, sinceStart } = waiting();
    const all = Array.from({ length: 100 }, (_, name) => join(name, { maxWaitMs: 3000 }));
    await clock.pass(3000);
    await Promise.all(all);
    expect(sinceStart()).toBe(3000);
    expect(served.filter(({ decision }) => decision.allowed).length).toBe(35);
    expect(served.filter(({ decision }) => !decision.allowed).every(({ atMs }) => atMs <= 3000)).toBe(true);
  });

  test('with cost above the limit is refused at once, also behind others', async () => {
    const { join, limiter } = waiting();
    for (let name = 0; name < 10; name++) void join(name);
    const never = await limiter.wait('s', { cost: 6, maxWaitMs: Number.POSITIVE_INFINITY });
    expect(never).toMatchObject({ allowed: false, reason: 'cost-exceeds-limit', retryAfterMs: null });
  });
});

test('a large request that has no time leaves, and a small one behind it that has is served', async () => {
  const { clock, served, join, limiter } = waiting();
  await limiter.consume('s', { cost: 5 });
  const all = [join(1), join(2, { cost: 5, maxWaitMs: 300 }), join(3, { maxWaitMs: 300 })];
  await clock.pass(200);
  await Promise.all(all);
  expect(served.map(({ name, atMs, decision }) => [name, atMs, decision.allowed])).toEqual([
    [1, 100, true],
    [2, 100, false],
    [3, 200, true],
  ]);
});

test('those who are through or have left are no longer counted as ahead', async () => {
  const { clock, join, limiter } = waiting();
  const leaving = new AbortController();
  const all = Array.from({ length: 50 }, (_, name) => join(name));
  const gone = Array.from({ length: 50 }, (_, name) => join(name, { signal: leaving.signal }).catch(() => undefined));
  leaving.abort();
  await clock.pass(4400);
  const late = limiter.wait('s', { maxWaitMs: 200 });
  await clock.pass(200);
  await Promise.all([...all, ...gone]);
  expect(await late).toMatchObject({ allowed: true });
});

test('a subject for whom nobody waits any more is forgotten', async () => {
  const clock = new FakeClock();
  const limiter = wire({ policy: 'api', limits: bucket }, clock);
  const settings = { clock, maxWaiters: 100, isShared: () => false };
  const ask = (subject: string, cost: number) => limiter.decide(subject, { cost });
  const room = new WaitingRoom('api', settings, {
    ask,
    giveBack: () => undefined,
    tell: () => undefined,
    isHeld: () => false,
  });
  const leaving = new AbortController();
  const all = ['a', 'b', 'c'].map((subject) => room.wait(subject, 5, {}));
  all.push(room.wait('a', 5, {}), room.wait('b', 5, {}));
  const gone = room.wait('c', 5, { signal: leaving.signal });
  expect(room.subjects).toBe(3);
  leaving.abort();
  await expect(gone).rejects.toThrow();
  expect(room.subjects).toBe(2);
  await clock.pass(500);
  await Promise.all(all);
  expect(room.subjects).toBe(0);
});

test('when a large request gives up, a small one behind it need not wait for its sake', async () => {
  const { clock, served, join, limiter } = waiting();
  await limiter.consume('s', { cost: 5 });
  const leaving = new AbortController();
  const large = join(1, { cost: 5, signal: leaving.signal });
  const small = join(2);
  leaving.abort();
  await expect(large).rejects.toMatchObject({ name: 'AbortError' });
  await clock.pass(100);
  await small;
  expect(served).toMatchObject([{ name: 2, atMs: 100 }]);
});

describe('more than may wait', () => {
  test('are refused at once with a reason of their own, and a freed place can be taken again', async () => {
    const { clock, join, limiter } = waiting(bucket, { maxWaiters: 3 });
    for (let name = 0; name < 5; name++) await limiter.wait('s');
    for (let name = 0; name < 2; name++) void join(name);
    const leaving = new AbortController();
    const third = join(3, { signal: leaving.signal }, 't2');
    await third;
    const waits = join(4, { signal: leaving.signal });
    const refusal = { allowed: false, reason: 'too-many-waiting', limits: [], degraded: undefined };
    expect(await limiter.wait('s')).toMatchObject(refusal);
    leaving.abort();
    await expect(waits).rejects.toThrow();
    const next = join(5);
    await clock.pass(300);
    await next;
    expect(clock.timers).toBe(0);
  });

  test.each([-1, 1.5, '10', null, 1_000_001, Number.POSITIVE_INFINITY])('maxWaiters %j is refused', (maxWaiters) => {
    expect(() => waiting(bucket, { maxWaiters: maxWaiters as number })).toThrow('maxWaiters: expected a whole number');
  });
});

test('close ends every wait with ERR_CLOSED and leaves no timer', async () => {
  const { clock, join, limiter } = waiting();
  const all = Array.from({ length: 20 }, (_, name) => join(name, {}, name % 2 === 0 ? 's' : 't'));
  await limiter.close();
  const results = await Promise.allSettled(all);
  expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(10);
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'ERR_CLOSED' });
  }
  expect(clock.timers).toBe(0);
  await expect(limiter.wait('s')).rejects.toMatchObject({ code: 'ERR_CLOSED' });
});

test('a wait of years takes several timers and ends at its time', async () => {
  const { asked, clock, join, limiter } = waiting(tokenBucket({ capacity: 1, refill: 1, every: '60d' }));
  await limiter.consume('s');
  const long = join(1);
  await clock.pass(60 * 86_400_000 - 1);
  expect(clock.timers).toBe(1);
  expect(asked.length).toBe(2);
  await clock.pass(1);
  await long;
});

test('a look never waits', async () => {
  const { join, limiter } = waiting();
  for (let name = 0; name < 10; name++) void join(name);
  expect(await limiter.wait('s', { cost: 0 })).toMatchObject({ allowed: true, cost: 0 });
});

test('misuse rejects before anybody is asked', async () => {
  const { asked, limiter } = waiting();
  const wait = (subject: unknown, options?: unknown) => limiter.wait(subject as string, options as undefined);
  await expect(wait('')).rejects.toMatchObject({ code: 'ERR_SUBJECT' });
  await expect(wait('s', { cost: 1.5 })).rejects.toMatchObject({ code: 'ERR_COST' });
  for (const maxWaitMs of [-1, Number.NaN, '10', null]) {
    await expect(wait('s', { maxWaitMs })).rejects.toMatchObject({ code: 'ERR_OPTION', field: 'maxWaitMs' });
  }
  await expect(wait('s', { maxWait: 5 })).rejects.toMatchObject({ code: 'ERR_OPTION', field: 'maxWait' });
  await expect(wait('s', { signal: {} })).rejects.toMatchObject({ code: 'ERR_OPTION', field: 'signal' });
  await expect(wait('s', null)).rejects.toMatchObject({ code: 'ERR_OPTION', field: 'options' });
  const reason = new Error('too late');
  await expect(wait('s', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(asked).toEqual([]);
});

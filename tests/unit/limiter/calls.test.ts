import { type CallOptions, createLimiter, type Decision, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock } from '../../support/fake-clock.js';
import { refusalOf } from '../../support/refusal.js';
import { admits, scripted } from './scripted-store.js';

const limits = slidingWindow({ limit: 3, window: '1s' });

/** A limiter over memory on a fake clock. */
function inMemory() {
  const clock = new FakeClock();
  return { clock, limiter: wire({ policy: 'api', limits }, clock) };
}

describe('consume', () => {
  test('admits up to the limit and says what is left, then refuses with the wait', async () => {
    const { clock, limiter } = inMemory();
    const first = await limiter.consume('s', { cost: 2 });
    expect(first).toEqual({
      allowed: true,
      reason: undefined,
      policy: 'api',
      subject: 's',
      cost: 2,
      id: expect.stringMatching(/^\w{5,40}$/),
      atUs: clock.nowUs(),
      limits: [first.binding],
      binding: {
        id: 'slidingWindow',
        limit: 3,
        windowMs: 1000,
        remaining: 1,
        retryAfterMs: 0,
        resetAfterMs: 1000,
        nextAfterMs: 1000,
      },
      retryAfterMs: 0,
      degraded: undefined,
    });
    clock.advance(400);
    const refused = await limiter.consume('s', { cost: 2 });
    expect(refused).toMatchObject({ allowed: false, reason: 'limit-exceeded', retryAfterMs: 600, cost: 2 });
    expect(refused.binding?.remaining).toBe(1);
    clock.advance(600);
    expect((await limiter.consume('s', { cost: 2 })).allowed).toBe(true);
  });

  test('refuses what can never fit, with no time to wait and nothing charged', async () => {
    const { limiter } = inMemory();
    for (const cost of [4, 200_000_000, Number.MAX_SAFE_INTEGER]) {
      const decision = await limiter.consume('s', { cost });
      expect(decision).toMatchObject({ allowed: false, reason: 'cost-exceeds-limit', retryAfterMs: null });
    }
    expect((await limiter.consume('s', { cost: 3 })).allowed).toBe(true);
  });

  test('a limit of 0 refuses all, for ever', async () => {
    const limiter = createLimiter({ policy: 'api', limits: tokenBucket({ capacity: 0, refill: 1, every: '1s' }) });
    const decision = await limiter.consume('s');
    expect(decision).toMatchObject({ allowed: false, reason: 'cost-exceeds-limit', retryAfterMs: null });
  });

  test('gives each decision an id of its own', async () => {
    const { limiter } = inMemory();
    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.consume('s')));
    expect(new Set(decisions.map(({ id }) => id)).size).toBe(500);
  });
});

test('decide answers at once over memory, and later over a store that takes time', async () => {
  const { limiter } = inMemory();
  expect(limiter.decide('s')).toMatchObject({ allowed: true, cost: 1 });
  const other = scripted({ limits });
  const answer = other.limiter.decide('s');
  expect(answer).toBeInstanceOf(Promise);
  other.store.call(0).resolve(admits());
  expect(await answer).toMatchObject({ allowed: true });
});

describe('a look', () => {
  test('by peek or by cost 0 charges nothing', async () => {
    const { limiter } = inMemory();
    for (let i = 0; i < 100; i++) {
      expect(await limiter.peek('s')).toMatchObject({ allowed: true, cost: 1 });
      expect(await limiter.consume('s', { cost: 0 })).toMatchObject({ allowed: true, cost: 0 });
    }
    expect((await limiter.consume('s', { cost: 3 })).allowed).toBe(true);
    expect(await limiter.consume('s', { cost: 0 })).toMatchObject({ allowed: true, binding: { remaining: 0 } });
    expect(await limiter.peek('s')).toMatchObject({ allowed: false, retryAfterMs: 1000 });
  });

  test('asks the store to look and not to consume', async () => {
    const { limiter, store } = scripted({ limits });
    void limiter.consume('s', { cost: 0 });
    void limiter.peek('s', { cost: 2 });
    void limiter.consume('s', { cost: 2 });
    expect(store.calls.map(({ operation, given }) => [operation, ...given])).toEqual([
      ['peek', 's', 0],
      ['peek', 's', 2],
      ['consume', 's', 2],
    ]);
  });
});

test('a reset forgets one subject and says how many keys it removed', async () => {
  const { limiter } = inMemory();
  await limiter.consume('s', { cost: 3 });
  await limiter.consume('t', { cost: 3 });
  expect(await limiter.reset('s')).toEqual({ keysRemoved: 1 });
  expect(await limiter.reset('s')).toEqual({ keysRemoved: 0 });
  expect((await limiter.consume('s')).allowed).toBe(true);
  expect((await limiter.consume('t')).allowed).toBe(false);
});

describe('misuse is told before the store is asked', () => {
  const wrong: [string, unknown, unknown, string, string][] = [
    ...[10 / 3, '2', Number.NaN, Number.POSITIVE_INFINITY, -1, 2 ** 53, 1.5, true, [1], {}, 1n].map(
      (cost): [string, unknown, unknown, string, string] => ['cost', 's', { cost }, 'ERR_COST', 'cost'],
    ),
    ...['', undefined, null, 42, {}, ['s']].map((subject): [string, unknown, unknown, string, string] => [
      'subject',
      subject,
      undefined,
      'ERR_SUBJECT',
      'subject',
    ]),
    ...[-1, Number.NaN, '10', 'soon', {}].map((timeoutMs): [string, unknown, unknown, string, string] => [
      'timeoutMs',
      's',
      { timeoutMs },
      'ERR_OPTION',
      'timeoutMs',
    ]),
  ];

  test.each(wrong)('%s %#', async (_, subject, options, code, field) => {
    const { limiter, store } = scripted({ limits });
    const [who, how] = [subject as string, options as CallOptions];
    expect(refusalOf(() => limiter.decide(who, how))).toMatchObject({ code, field });
    await expect(limiter.consume(who, how)).rejects.toMatchObject({ code, field });
    await expect(limiter.peek(who, how)).rejects.toMatchObject({ code, field });
    if (code === 'ERR_SUBJECT') await expect(limiter.reset(who)).rejects.toMatchObject({ code, field });
    expect(store.calls).toEqual([]);
  });

  test('a message about a cost says the range and what was given', () => {
    const { text } = refusalOf(() => scripted({ limits }).limiter.decide('s', { cost: 10 / 3 }));
    expect(text).toBe('cost: expected a whole number from 0 to 2^53 - 1, got 3.3333333333333335');
  });
});

describe('after close', () => {
  test('every call is refused with ERR_CLOSED and the store is not asked', async () => {
    const { limiter, store } = scripted({ limits });
    const earlier = limiter.consume('s');
    store.call(0).resolve(admits());
    const decision: Decision = await earlier;
    await limiter.close();
    const closed = { code: 'ERR_CLOSED' };
    expect(refusalOf(() => limiter.decide('s'))).toMatchObject(closed);
    await expect(limiter.consume('s')).rejects.toMatchObject(closed);
    await expect(limiter.peek('s')).rejects.toMatchObject(closed);
    await expect(limiter.reset('s')).rejects.toMatchObject(closed);
    await expect(limiter.refund(decision)).rejects.toMatchObject(closed);
    expect(store.calls.length).toBe(1);
  });

  test('a store that was passed in stays open, and closing twice is harmless', async () => {
    const { limiter, store } = scripted({ limits });
    await limiter.close();
    await limiter.close();
    expect(store.isClosed).toBe(false);
  });

  test('a call that is under way still gets its answer', async () => {
    const { limiter, store } = scripted({ limits });
    const answer = limiter.consume('s');
    await limiter.close();
    store.call(0).resolve(admits());
    expect(await answer).toMatchObject({ allowed: true, degraded: undefined });
  });
});

import { createLimiter, type LimiterOptions, memoryStore, type Store, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';

const bucket = (capacity: number, id?: string) =>
  tokenBucket({ capacity, refill: 1, every: '1h', ...(id === undefined ? {} : { id }) });

function made(options: Partial<LimiterOptions>, clock = new FakeClock(), store: Store = memoryStore({ clock })) {
  return { clock, store, limiter: wire({ policy: 'api', limits: bucket(2), store, ...options }, clock) };
}

const left = async (limiter: ReturnType<typeof made>['limiter'], subject: string, plan?: string) =>
  (await limiter.peek(subject, plan === undefined ? {} : { plan })).limits.map(({ remaining }) => remaining);

describe('plans', () => {
  test('with the ids of the policy share its use; with ids of their own they do not', async () => {
    const { limiter } = made({ plans: { same: bucket(10), own: bucket(10, 'pro') } });
    await limiter.consume('a', { cost: 2 });
    expect([await left(limiter, 'a', 'same'), await left(limiter, 'a', 'own')]).toEqual([[8], [10]]);
  });

  test('say what a refund, a settlement and a reset are about', async () => {
    const { limiter } = made({ plans: { pro: bucket(10, 'pro') } });
    await limiter.consume('a');
    const decision = await limiter.consume('a', { cost: 4, plan: 'pro' });
    expect(await limiter.refund(decision)).toBe(true);
    expect([await left(limiter, 'a'), await left(limiter, 'a', 'pro')]).toEqual([[1], [10]]);
    const reservation = await limiter.reserve('a', { cost: 6, plan: 'pro' });
    expect((await limiter.settle(reservation, 2)).limits).toMatchObject([{ id: 'pro', remaining: 8 }]);
    expect(await left(limiter, 'a')).toEqual([1]);
    await limiter.reset('a');
    expect([await left(limiter, 'a'), await left(limiter, 'a', 'pro')]).toEqual([[2], [10]]);
  });

  test('that nobody knows are refused, and nothing is charged', async () => {
    const { limiter } = made({ plans: { pro: bucket(10) } });
    await expect(limiter.consume('a', { plan: 'gold' })).rejects.toMatchObject({ code: 'ERR_PLAN' });
    expect(() => limiter.decide('a', { plan: 'gold' })).toThrow(expect.objectContaining({ code: 'ERR_PLAN' }));
    expect(await left(limiter, 'a')).toEqual([2]);
  });

  test.each<[string, Partial<LimiterOptions>]>([
    ['plans', { plans: [] as never }],
    ['plans', { plans: { 'a b': bucket(1) } }],
    ['plans.pro', { plans: { pro: [] } }],
    ['planOf', { planOf: 'pro' as never }],
    ['overrides', { overrides: 1 as never }],
    ['revision', { revision: -1 }],
    ['revision', { revision: 1.5 }],
    ['revision', { revision: '1' as never }],
  ])('and their options are checked: %s', (field, options) => {
    expect(() => createLimiter({ policy: 'api', limits: bucket(1), ...options })).toThrow(
      expect.objectContaining({ field }),
    );
  });
});

describe('a planOf that fails', () => {
  const failing = () => {
    throw new Error('no such tenant');
  };

  test('rejects with ERR_PLAN and its own words', async () => {
    const { limiter } = made({ plans: { pro: bucket(10) }, planOf: failing });
    const refusal = { code: 'ERR_PLAN', field: 'planOf', message: expect.stringContaining('no such tenant') };
    for (const call of [
      limiter.consume('a'),
      limiter.peek('a'),
      limiter.wait('a'),
      limiter.acquire('a'),
      limiter.reserve('a'),
      limiter.consumeUpTo('a', 2),
      limiter.charge('a'),
      limiter.reward('a'),
    ]) {
      await expect(call).rejects.toMatchObject(refusal);
    }
    expect((await limiter.consume('a', { plan: 'pro' })).allowed).toBe(true);
  });

  test('is not asked for what is known without it', async () => {
    let isFailing = false;
    const { limiter } = made({ blocks: true, overrides: true, planOf: () => (isFailing ? failing() : undefined) });
    const decision = await limiter.consume('a');
    isFailing = true;
    expect(await limiter.refund(decision)).toBe(true);
    await limiter.block('a', '1h');
    expect(await limiter.unblock('a')).toBe(true);
    await limiter.setOverride('a', { limits: [bucket(5)] }, '1h');
    expect(await limiter.removeOverride('a')).toBe(true);
    await limiter.reset('a');
  });

  test('while a call waits rejects that call, and throws nowhere else', async () => {
    let isFailing = false;
    const { limiter, clock } = made({
      limits: slidingWindow({ limit: 1, window: '1s' }),
      planOf: () => (isFailing ? failing() : undefined),
    });
    await limiter.consume('a');
    const waiting = [limiter.wait('a'), limiter.wait('a')].map((call) =>
      call.then(
        () => 'admitted',
        ({ code }) => code,
      ),
    );
    await flush();
    isFailing = true;
    await clock.pass(1000);
    expect(await Promise.all(waiting)).toEqual(['ERR_PLAN', 'ERR_PLAN']);
    isFailing = false;
    expect((await limiter.consume('a')).allowed).toBe(true);
  });
});

describe('overrides', () => {
  test('reach a call that waits when it asks again', async () => {
    const { limiter, clock } = made({ limits: slidingWindow({ limit: 1, window: '10s' }), overrides: true });
    await limiter.consume('a');
    const waiting = [limiter.wait('a'), limiter.wait('a'), limiter.wait('a')];
    await flush();
    await limiter.setOverride('a', { limits: [slidingWindow({ limit: 3, window: '10s' })] }, '1h');
    await clock.pass(10_000);
    const decisions = await Promise.all(waiting);
    expect(decisions.map(({ allowed, limits }) => [allowed, limits[0]?.limit])).toEqual(Array(3).fill([true, 3]));
  });

  test('end at their time in every limiter, and what was used stays used', async () => {
    const { limiter, clock, store } = made({ overrides: true });
    const { limiter: other } = made({ overrides: true }, clock, store);
    await limiter.setOverride('a', { limits: [bucket(10)] }, '1m');
    expect((await other.consume('a', { cost: 5 })).limits).toMatchObject([{ limit: 10, remaining: 5 }]);
    clock.advance(59_999);
    expect(await left(other, 'a')).toEqual([5]);
    clock.advance(1);
    expect((await other.peek('a')).limits).toMatchObject([{ limit: 2, remaining: 0 }]);
    expect((await limiter.peek('a')).limits).toMatchObject([{ limit: 2, remaining: 0 }]);
  });

  test.each(['1s', '10d'])('that are put in place of others last for their own time: %s', async (lasts) => {
    const { limiter, clock } = made({ overrides: true });
    await limiter.setOverride('a', { limits: [bucket(10)] }, '1h');
    await limiter.setOverride('a', { limits: [bucket(20)] }, lasts);
    clock.advance(lasts === '1s' ? 1000 : 3_600_000);
    expect((await limiter.peek('a')).limits).toMatchObject([{ limit: lasts === '1s' ? 2 : 20 }]);
  });

  test('are refused where they could never be met, and nothing is stored', async () => {
    const { limiter } = made({ overrides: true, plans: { pro: bucket(10) } });
    await expect(limiter.setOverride('a', { plan: 'gold' }, '1h')).rejects.toMatchObject({ code: 'ERR_PLAN' });
    await expect(limiter.setOverride('a', { limits: [] }, '1h')).rejects.toMatchObject({ code: 'ERR_LIMIT' });
    await expect(limiter.setOverride('a', {} as never, '1h')).rejects.toMatchObject({ code: 'ERR_OPTION' });
    for (const lasts of [0, -1, '11y', '4000d', 1.5]) {
      await expect(limiter.setOverride('a', { plan: 'pro' }, lasts)).rejects.toMatchObject({
        code: expect.stringMatching(/^ERR_(OPTION|DURATION)$/),
      });
    }
    expect(await limiter.removeOverride('a')).toBe(false);
    const plain = made({ plans: { pro: bucket(10) } }).limiter;
    await expect(plain.setOverride('a', { plan: 'pro' }, '1h')).rejects.toMatchObject({ code: 'ERR_OPTION' });
  });

  test('do not survive in what they have ended by: a refund goes to the limits that were charged', async () => {
    const { limiter } = made({ overrides: true });
    await limiter.setOverride('a', { limits: [bucket(10, 'own')] }, '1h');
    const decision = await limiter.consume('a', { cost: 4 });
    await limiter.removeOverride('a');
    expect(await limiter.refund(decision)).toBe(true);
    await limiter.setOverride('a', { limits: [bucket(10, 'own')] }, '1h');
    expect(await left(limiter, 'a')).toEqual([10]);
  });
});

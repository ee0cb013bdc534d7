import { type Decision, fixedWindow, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { admits, refuses, scripted, unavailable } from './scripted-store.js';

const limits = [slidingWindow({ limit: 10, window: '1m' }), tokenBucket({ capacity: 20, refill: 1, every: '1m' })];

function inMemory(given = limits) {
  const clock = new FakeClock();
  const limiter = wire({ policy: 'api', limits: given }, clock);
  const left = async () => (await limiter.peek('s', { cost: 0 })).limits.map(({ remaining }) => remaining);
  return { clock, limiter, left };
}

describe('a refund', () => {
  test('gives every limit back what the decision charged, once', async () => {
    const { limiter, left } = inMemory();
    const decision = await limiter.consume('s', { cost: 4 });
    await limiter.consume('s', { cost: 3 });
    expect(await left()).toEqual([3, 13]);
    expect(await limiter.refund(decision)).toBe(true);
    expect(await left()).toEqual([7, 17]);
    expect([await limiter.refund(decision), await limiter.refund(decision, 1)]).toEqual([false, false]);
    expect(await left()).toEqual([7, 17]);
  });

  test('of a part gives back that part', async () => {
    const { limiter, left } = inMemory();
    const decision = await limiter.consume('s', { cost: 5 });
    expect(await limiter.refund(decision, 2)).toBe(true);
    expect(await left()).toEqual([7, 17]);
  });

  test('never lifts above full and gives nothing once the charge has run out', async () => {
    const { clock, limiter, left } = inMemory();
    const decision = await limiter.consume('s', { cost: 5 });
    clock.advance(3_600_000);
    expect(await limiter.refund(decision)).toBe(false);
    expect(await left()).toEqual([10, 20]);
  });

  test('of nothing changes nothing', async () => {
    const { limiter, left } = inMemory();
    const decision = await limiter.consume('s', { cost: 5 });
    expect(await limiter.refund(decision, 0)).toBe(false);
    const looked = await limiter.consume('s', { cost: 0 });
    expect(await limiter.refund(looked)).toBe(false);
    expect(await left()).toEqual([5, 15]);
  });

  test.each([tokenBucket({ capacity: 10, refill: 1, every: '1m' }), fixedWindow({ limit: 10, window: '1d' })])(
    'of a look gives nothing, for it charged nothing: %#',
    async (limit) => {
      const { limiter, left } = inMemory([limit]);
      await limiter.consume('s', { cost: 6 });
      const looked = await limiter.peek('s', { cost: 3 });
      expect(await limiter.refund(looked)).toBe(false);
      expect(await left()).toEqual([4]);
    },
  );

  test('names the subject, the decision, its time and the amount to the store', async () => {
    const { limiter, store } = scripted({ limits });
    const answer = limiter.consume('s', { cost: 4 });
    store.call(0).resolve(admits(5, 2));
    const decision = await answer;
    const refunded = limiter.refund(decision, 3);
    const { operation, given } = store.call(1);
    expect([operation, ...given]).toEqual([
      'refund',
      { subject: 's', decisionId: decision.id, atUs: 1_000_000, amount: 3, isPart: true },
    ]);
    store.call(1).resolve(2);
    expect(await refunded).toBe(true);
  });
});

describe('a refund that cannot be meant is refused with ERR_REFUND before the store is asked', () => {
  const allowed = { id: 'd', policy: 'api', subject: 's', allowed: true, cost: 4, atUs: 1, degraded: undefined };

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'd'],
    ['no decision', {}],
    ['a refusal', { ...allowed, allowed: false }],
    ['a decision of another policy', { ...allowed, policy: 'other' }],
  ])('%s', async (_, decision) => {
    const { limiter, store } = scripted({ limits });
    const refused = limiter.refund(decision as Decision, 1);
    await expect(refused).rejects.toMatchObject({ code: 'ERR_REFUND', field: 'decision' });
    expect(store.calls).toEqual([]);
  });

  test.each([-1, 5, 1.5, Number.NaN, 2 ** 53, '1', null])('an amount of %j out of 4', async (amount) => {
    const { limiter, store } = scripted({ limits });
    const refused = limiter.refund(allowed as unknown as Decision, amount as number);
    await expect(refused).rejects.toMatchObject({ code: 'ERR_REFUND', field: 'amount' });
    expect(store.calls).toEqual([]);
  });
});

describe('when the store cannot answer', () => {
  const failing = () => scripted({ limits, onStoreFailure: 'local' });

  test('a refund is false within the time limit, and a late success changes nothing', async () => {
    const { clock, limiter, store, heard } = failing();
    const answer = limiter.consume('s');
    store.call(0).resolve(admits(5, 2));
    const refunded = limiter.refund(await answer);
    clock.advance(50);
    expect(await refunded).toBe(false);
    expect(store.call(1).waiter.isOver).toBe(true);
    store.call(1).resolve(2);
    await flush();
    expect(heard).toContain('storeError api timeout');
    expect(clock.timers).toBe(0);
  });

  test.each<[string, (store: ReturnType<typeof failing>['store']) => void]>([
    ['rejects', (store) => store.call(1).reject(unavailable())],
    ['throws', () => undefined],
  ])('a refund is false when the store %s', async (how, fail) => {
    const { limiter, store, heard } = failing();
    const answer = limiter.consume('s');
    store.call(0).resolve(admits(5, 2));
    const decision = await answer;
    if (how === 'throws') store.throws = unavailable();
    const refunded = limiter.refund(decision);
    fail(store);
    expect(await refunded).toBe(false);
    expect(heard).toContain('storeError api unavailable');
  });

  test('what was decided locally is given back locally, and the store is not asked', async () => {
    const { limiter, store } = failing();
    store.throws = unavailable();
    const decision = await limiter.consume('s', { cost: 10 });
    expect(decision).toMatchObject({ allowed: true, degraded: { mode: 'local' } });
    expect((await limiter.consume('s')).allowed).toBe(false);
    store.throws = undefined;
    expect([await limiter.refund(decision), await limiter.refund(decision)]).toEqual([true, false]);
    expect(store.calls).toEqual([]);
    store.throws = unavailable();
    expect((await limiter.consume('s', { cost: 10 })).allowed).toBe(true);
  });

  test('what passed because the policy is open was not charged: false, and nobody is asked', async () => {
    const { limiter, store } = scripted({ limits, onStoreFailure: 'open' });
    store.throws = unavailable();
    const decision = await limiter.consume('s', { cost: 10 });
    store.throws = undefined;
    expect(decision.allowed).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    expect(store.calls).toEqual([]);
  });

  test('what was refused because it is closed cannot be given back', async () => {
    const { limiter, store } = scripted({ limits, onStoreFailure: 'closed' });
    store.throws = unavailable();
    const decision = await limiter.consume('s');
    await expect(limiter.refund(decision)).rejects.toMatchObject({ code: 'ERR_REFUND' });
  });
});

test('a refused decision of the store leaves nothing to give back', async () => {
  const { limiter, store } = scripted({ limits });
  const answer = limiter.consume('s');
  store.call(0).resolve(refuses(100, 0));
  await expect(limiter.refund(await answer)).rejects.toMatchObject({ code: 'ERR_REFUND', field: 'decision' });
});

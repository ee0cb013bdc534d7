import assert from 'node:assert/strict';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  isComportaError,
  type Limit,
  type Limiter,
  quota,
  type Store,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from 'comporta';

/** One thing that every store must do. Cases share no subjects, so they may run one after the other on one store. */
export interface StoreCase {
  readonly name: string;
  run(store: Store): Promise<void>;
}

/** Each algorithm with room for `limit`, so slow to give it back that a test sees none of that. */
export const kinds: Readonly<Record<string, (limit: number) => Limit>> = {
  tokenBucket: (limit) => tokenBucket({ capacity: limit, refill: 1, every: '1h' }),
  slidingWindow: (limit) => slidingWindow({ limit, window: '1h' }),
  slidingWindowCounter: (limit) => slidingWindowCounter({ limit, window: '365d' }),
  fixedWindow: (limit) => fixedWindow({ limit, window: '1h', align: 'first-hit' }),
  quota: (limit) => quota({ limit, per: 'year', timeZone: 'Asia/Kathmandu' }),
};

export function limiterOn(store: Store, policy: string, limits: Limit | readonly Limit[]): Limiter {
  return createLimiter({ policy, limits, store, timeoutMs: 10_000, onStoreFailure: 'closed' });
}

/** A decision that the store made; a degraded one says nothing about it. */
export async function ask(limiter: Limiter, subject: string, cost = 1): Promise<Decision> {
  const decision = await limiter.consume(subject, { cost });
  assert.equal(decision.degraded, undefined, `the store must decide: ${decision.degraded?.detail}`);
  return decision;
}

const remainingOf = async (limiter: Limiter, subject: string): Promise<number[]> =>
  (await limiter.peek(subject)).limits.map(({ remaining }) => remaining);

const each = Object.entries(kinds).flatMap(([kind, of]): StoreCase[] => [
  {
    name: `${kind} admits up to its limit, then refuses and says how long`,
    run: async (store) => {
      const limiter = limiterOn(store, `upto-${kind}`, of(3));
      for (const left of [2, 1, 0]) {
        const decision = await ask(limiter, 'a');
        assert.deepEqual([decision.allowed, decision.binding?.remaining, decision.retryAfterMs], [true, left, 0]);
      }
      const refused = await ask(limiter, 'a');
      assert.deepEqual([refused.allowed, refused.reason, refused.binding?.remaining], [false, 'limit-exceeded', 0]);
      assert.ok(refused.retryAfterMs !== null && refused.retryAfterMs > 0);
      assert.equal((await ask(limiter, 'b')).allowed, true, 'another subject has its own room');
    },
  },
  {
    name: `${kind} takes a cost whole or not at all, and never more than its limit`,
    run: async (store) => {
      const limiter = limiterOn(store, `cost-${kind}`, of(10));
      assert.equal((await ask(limiter, 'a', 7)).allowed, true);
      assert.equal((await ask(limiter, 'a', 4)).allowed, false);
      const never = await ask(limiter, 'a', 11);
      assert.deepEqual([never.reason, never.retryAfterMs], ['cost-exceeds-limit', null]);
      assert.deepEqual(await remainingOf(limiter, 'a'), [3]);
      assert.equal((await ask(limiter, 'a', 3)).allowed, true);
      assert.equal((await ask(limiter, 'a', Number.MAX_SAFE_INTEGER)).reason, 'cost-exceeds-limit');
    },
  },
  {
    name: `${kind} gives a charge back once, in part if asked, and never above full`,
    run: async (store) => {
      const limiter = limiterOn(store, `refund-${kind}`, of(10));
      const [first, second] = [await ask(limiter, 'a', 4), await ask(limiter, 'a', 5)];
      assert.equal(await limiter.refund(first, 3), true);
      assert.equal(await limiter.refund(first, 3), false, 'a second refund of one decision');
      assert.deepEqual(await remainingOf(limiter, 'a'), [4]);
      assert.equal(await limiter.refund(second), true);
      assert.deepEqual(await remainingOf(limiter, 'a'), [9]);
      await limiter.reset('a');
      await ask(limiter, 'a', 1);
      await limiter.refund(second);
      await limiter.refund({ ...second, id: 'another' });
      assert.ok(Math.max(...(await remainingOf(limiter, 'a'))) <= 10);
    },
  },
  {
    name: `${kind} gives nothing back to a subject that holds nothing`,
    run: async (store) => {
      const limiter = limiterOn(store, `nothing-${kind}`, of(5));
      const decision = await ask(limiter, 'a', 2);
      assert.deepEqual(await limiter.reset('a'), { keysRemoved: 1 });
      assert.equal(await limiter.refund(decision), false);
      assert.deepEqual(await limiter.reset('a'), { keysRemoved: 0 }, 'a refund makes no state');
    },
  },
  {
    name: `${kind} admits exactly its limit of requests made at once`,
    run: async (store) => {
      const limiter = limiterOn(store, `atonce-${kind}`, of(5));
      const decisions = await Promise.all(Array.from({ length: 100 }, () => ask(limiter, 'a')));
      assert.equal(decisions.filter(({ allowed }) => allowed).length, 5);
    },
  },
  {
    name: `${kind} with a limit of 0 refuses everything for ever`,
    run: async (store) => {
      const decision = await ask(limiterOn(store, `zero-${kind}`, of(0)), 'a');
      assert.deepEqual([decision.reason, decision.retryAfterMs], ['cost-exceeds-limit', null]);
    },
  },
]);

const limits = (): Limit[] => [kinds.tokenBucket?.(4), kinds.slidingWindow?.(6), kinds.fixedWindow?.(9)] as Limit[];

const several: readonly StoreCase[] = [
  {
    name: 'several limits are charged all or none, and the violated one is named',
    run: async (store) => {
      const limiter = limiterOn(store, 'several', limits());
      assert.equal((await ask(limiter, 'a', 3)).allowed, true);
      const refused = await ask(limiter, 'a', 2);
      assert.deepEqual([refused.allowed, refused.binding?.id], [false, 'tokenBucket']);
      assert.deepEqual(await remainingOf(limiter, 'a'), [1, 3, 6], 'a refusal charges none of them');
      assert.deepEqual(
        refused.limits.map(({ retryAfterMs }) => retryAfterMs === 0),
        [false, true, true],
      );
      const never = await ask(limiter, 'a', 7);
      assert.deepEqual([never.reason, never.retryAfterMs], ['cost-exceeds-limit', null]);
    },
  },
  {
    name: 'a refund goes to every limit, and a reset tells how many keys it removed',
    run: async (store) => {
      const limiter = limiterOn(store, 'several-back', limits());
      const decision = await ask(limiter, 'a', 3);
      assert.equal(await limiter.refund(decision), true);
      assert.deepEqual(await remainingOf(limiter, 'a'), [4, 6, 9]);
      await ask(limiter, 'a', 4);
      assert.equal((await ask(limiter, 'a')).allowed, false);
      assert.deepEqual(await limiter.reset('a'), { keysRemoved: 3 });
      assert.equal((await ask(limiter, 'a', 4)).allowed, true);
    },
  },
  {
    name: 'several limits admit exactly what the tightest allows of requests made at once',
    run: async (store) => {
      const limiter = limiterOn(store, 'several-atonce', limits());
      const decisions = await Promise.all(Array.from({ length: 60 }, () => ask(limiter, 'a')));
      assert.equal(decisions.filter(({ allowed }) => allowed).length, 4);
      assert.deepEqual(await remainingOf(limiter, 'a'), [0, 2, 5]);
    },
  },
];

const others: readonly StoreCase[] = [
  {
    name: 'a look changes nothing, on a new subject, a used and an exhausted one',
    run: async (store) => {
      const limiter = limiterOn(store, 'look', limits());
      const look = async () => [await limiter.peek('a'), await limiter.consume('a', { cost: 0 })];
      assert.ok((await look()).every(({ allowed, limits: states }) => allowed && states[0]?.remaining === 4));
      assert.deepEqual(await limiter.reset('a'), { keysRemoved: 0 });
      await ask(limiter, 'a', 4);
      for (let i = 0; i < 20; i++) await look();
      assert.deepEqual(await remainingOf(limiter, 'a'), [0, 2, 5]);
      assert.equal((await limiter.peek('a')).allowed, false);
      assert.equal((await limiter.consume('a', { cost: 0 })).allowed, true);
    },
  },
  {
    name: 'the wait that a refusal names is enough, and the limit is kept until then',
    run: async (store) => {
      const limiter = limiterOn(store, 'wait', slidingWindow({ limit: 2, window: 150 }));
      const startMs = performance.now();
      for (let i = 0; i < 2; i++) await ask(limiter, 'a');
      const refused = await ask(limiter, 'a');
      assert.ok(refused.allowed || (refused.retryAfterMs ?? 0) <= 150);
      // Timers may fire a millisecond early.
      await new Promise((resolve) => setTimeout(resolve, 1 + (refused.retryAfterMs ?? 0)));
      assert.equal((await ask(limiter, 'a')).allowed, true);
      assert.ok(performance.now() - startMs >= 140);
    },
  },
  {
    name: 'policies, and limits of one policy, keep their own counts of one subject',
    run: async (store) => {
      const two = [
        slidingWindow({ id: 'x', limit: 1, window: '1h' }),
        slidingWindow({ id: 'y', limit: 2, window: '1h' }),
      ];
      const [left, right] = [limiterOn(store, 'left', two), limiterOn(store, 'right', two)];
      assert.equal((await ask(left, 'a')).allowed, true);
      assert.deepEqual(
        (await ask(right, 'a')).limits.map(({ id, remaining }) => `${id}${remaining}`),
        ['x0', 'y1'],
      );
    },
  },
  {
    name: 'wrong costs and subjects are errors before the store is asked',
    run: async (store) => {
      const limiter = limiterOn(store, 'misuse', limits());
      for (const cost of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
        await assert.rejects(
          limiter.consume('a', { cost }),
          (error) => isComportaError(error) && error.code === 'ERR_COST',
        );
      }
      await assert.rejects(limiter.consume(''), (error) => isComportaError(error) && error.code === 'ERR_SUBJECT');
      assert.deepEqual(await limiter.reset('a'), { keysRemoved: 0 });
    },
  },
  {
    name: 'a closed limiter refuses to be used, and leaves its store to others',
    run: async (store) => {
      const [closed, open] = [limiterOn(store, 'closing', limits()), limiterOn(store, 'closing', limits())];
      await ask(closed, 'a', 3);
      await closed.close();
      await closed.close();
      await assert.rejects(closed.consume('a'), (error) => isComportaError(error) && error.code === 'ERR_CLOSED');
      assert.equal((await ask(open, 'a')).binding?.remaining, 0);
    },
  },
];

/** What every store must do with ordinary subjects; see `hostile-subjects.ts` for the others. */
export const storeCases: readonly StoreCase[] = [...each, ...several, ...others];

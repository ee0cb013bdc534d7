import type { Limit } from '../algorithms/algorithm.js';
import { slidingWindow } from '../algorithms/limits.js';
import { steadyMs } from '../core/time.js';
import { assertRejects, assertSame, assertTrue } from './assertion.js';
import { pause } from './pause.js';
import { ask, kinds, leftOf, limiterOn, limiterWith } from './store-limiters.js';
import type { StoreCheck } from './store-suite.js';

type Of = (limit: number) => Limit;

const admissions = (kind: string, of: Of): StoreCheck[] => [
  {
    name: `${kind} admits up to its limit, then refuses and says how long`,
    run: async (store) => {
      const limiter = limiterOn(store, `upto-${kind}`, of(3));
      for (const left of [2, 1, 0]) {
        const decision = await ask(limiter, 'a');
        assertSame([decision.allowed, decision.binding?.remaining, decision.retryAfterMs], [true, left, 0]);
      }
      const refused = await ask(limiter, 'a');
      assertSame([refused.allowed, refused.reason, refused.binding?.remaining], [false, 'limit-exceeded', 0]);
      assertTrue((refused.retryAfterMs ?? 0) > 0, 'a refusal says how long');
      assertSame((await ask(limiter, 'b')).allowed, true, 'another subject has its own room');
    },
  },
  {
    name: `${kind} takes a cost whole or not at all, and never more than its limit`,
    run: async (store) => {
      const limiter = limiterOn(store, `cost-${kind}`, of(10));
      assertSame((await ask(limiter, 'a', 7)).allowed, true);
      assertSame((await ask(limiter, 'a', 4)).allowed, false);
      const never = await ask(limiter, 'a', 11);
      assertSame([never.reason, never.retryAfterMs], ['cost-exceeds-limit', null]);
      assertSame(await leftOf(limiter, 'a'), [3]);
      assertSame((await ask(limiter, 'a', 3)).allowed, true);
      assertSame((await ask(limiter, 'a', Number.MAX_SAFE_INTEGER)).reason, 'cost-exceeds-limit');
    },
  },
  {
    name: `${kind} admits exactly its limit of requests made at once`,
    run: async (store) => {
      const limiter = limiterOn(store, `atonce-${kind}`, of(5));
      const decisions = await Promise.all(Array.from({ length: 100 }, () => ask(limiter, 'a')));
      assertSame(decisions.filter(({ allowed }) => allowed).length, 5);
    },
  },
  {
    name: `${kind} counts each part of a split subject by itself, and admits its limit in all of them`,
    run: async (store) => {
      const limiter = limiterWith(store, `parts-${kind}`, { limits: of(66), split: { parts: 4 } });
      const decisions = await Promise.all(Array.from({ length: 100 }, () => ask(limiter, 'a')));
      assertSame(decisions.filter(({ allowed }) => allowed).length, 66);
      assertSame(await leftOf(limiter, 'a'), [0]);
    },
  },
  {
    name: `${kind} with a limit of 0 refuses everything for ever`,
    run: async (store) => {
      const decision = await ask(limiterOn(store, `zero-${kind}`, of(0)), 'a');
      assertSame([decision.reason, decision.retryAfterMs], ['cost-exceeds-limit', null]);
    },
  },
];

const refunds = (kind: string, of: Of): StoreCheck[] => [
  {
    name: `${kind} gives a charge back once, in part if asked, and never above full`,
    run: async (store) => {
      const limiter = limiterOn(store, `refund-${kind}`, of(10));
      const [first, second] = [await ask(limiter, 'a', 4), await ask(limiter, 'a', 5)];
      assertSame(await limiter.refund(first, 3), true);
      assertSame(await limiter.refund(first, 3), false, 'a second refund of one decision');
      assertSame(await leftOf(limiter, 'a'), [4]);
      assertSame(await limiter.refund(second), true);
      assertSame(await leftOf(limiter, 'a'), [9]);
      await limiter.reset('a');
      await ask(limiter, 'a', 1);
      await limiter.refund(second);
      await limiter.refund({ ...second, id: 'another' });
      assertTrue(Math.max(...(await leftOf(limiter, 'a'))) <= 10, 'never above full');
    },
  },
  {
    name: `${kind} gives nothing back to a subject that holds nothing`,
    run: async (store) => {
      const limiter = limiterOn(store, `nothing-${kind}`, of(5));
      const decision = await ask(limiter, 'a', 2);
      assertSame(await limiter.reset('a'), { keysRemoved: 1 });
      assertSame(await limiter.refund(decision), false);
      assertSame(await limiter.reset('a'), { keysRemoved: 0 }, 'a refund makes no state');
    },
  },
];

const each = Object.entries(kinds).flatMap(([kind, of]) => [...admissions(kind, of), ...refunds(kind, of)]);

const limits = (): Limit[] => [kinds.tokenBucket(4), kinds.slidingWindow(6), kinds.fixedWindow(9)];

const several: readonly StoreCheck[] = [
  {
    name: 'several limits are charged all or none, and the violated one is named',
    run: async (store) => {
      const limiter = limiterOn(store, 'several', limits());
      assertSame((await ask(limiter, 'a', 3)).allowed, true);
      const refused = await ask(limiter, 'a', 2);
      assertSame([refused.allowed, refused.binding?.id], [false, 'tokenBucket']);
      assertSame(await leftOf(limiter, 'a'), [1, 3, 6], 'a refusal charges none of them');
      assertSame(
        refused.limits.map(({ retryAfterMs }) => retryAfterMs === 0),
        [false, true, true],
      );
      const never = await ask(limiter, 'a', 7);
      assertSame([never.reason, never.retryAfterMs], ['cost-exceeds-limit', null]);
    },
  },
  {
    name: 'a refund goes to every limit, and a reset tells how many keys it removed',
    run: async (store) => {
      const limiter = limiterOn(store, 'several-back', limits());
      const decision = await ask(limiter, 'a', 3);
      assertSame(await limiter.refund(decision), true);
      assertSame(await leftOf(limiter, 'a'), [4, 6, 9]);
      await ask(limiter, 'a', 4);
      assertSame((await ask(limiter, 'a')).allowed, false);
      assertSame(await limiter.reset('a'), { keysRemoved: 3 });
      assertSame((await ask(limiter, 'a', 4)).allowed, true);
    },
  },
  {
    name: 'several limits admit exactly what the tightest allows of requests made at once',
    run: async (store) => {
      const limiter = limiterOn(store, 'several-atonce', limits());
      const decisions = await Promise.all(Array.from({ length: 60 }, () => ask(limiter, 'a')));
      assertSame(decisions.filter(({ allowed }) => allowed).length, 4);
      assertSame(await leftOf(limiter, 'a'), [0, 2, 5]);
    },
  },
];

const others: readonly StoreCheck[] = [
  {
    name: 'a look changes nothing, on a new subject, a used and an exhausted one',
    run: async (store) => {
      const limiter = limiterOn(store, 'look', limits());
      const look = async () => [await limiter.peek('a'), await limiter.consume('a', { cost: 0 })];
      const seen = (await look()).map(({ allowed, limits: states }) => [allowed, states[0]?.remaining]);
      assertSame(seen, Array(2).fill([true, 4]));
      assertSame(await limiter.reset('a'), { keysRemoved: 0 });
      await ask(limiter, 'a', 4);
      for (let i = 0; i < 20; i++) await look();
      assertSame(await leftOf(limiter, 'a'), [0, 2, 5]);
      assertSame((await limiter.peek('a')).allowed, false);
      assertSame((await limiter.consume('a', { cost: 0 })).allowed, true);
    },
  },
  {
    name: 'the wait that a refusal names is enough, and the limit is kept until then',
    run: async (store) => {
      const limiter = limiterOn(store, 'wait', slidingWindow({ limit: 2, window: 150 }));
      const startMs = steadyMs();
      for (let i = 0; i < 2; i++) await ask(limiter, 'a');
      const refused = await ask(limiter, 'a');
      assertTrue(refused.allowed || (refused.retryAfterMs ?? 0) <= 150, 'no longer than the window');
      // Timers may fire a millisecond early.
      await pause(1 + (refused.retryAfterMs ?? 0));
      assertSame((await ask(limiter, 'a')).allowed, true);
      assertTrue(steadyMs() - startMs >= 140, 'the limit is kept until then');
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
      assertSame((await ask(left, 'a')).allowed, true);
      assertSame(
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
        await assertRejects(limiter.consume('a', { cost }), 'ERR_COST');
      }
      await assertRejects(limiter.consume(''), 'ERR_SUBJECT');
      assertSame(await limiter.reset('a'), { keysRemoved: 0 });
    },
  },
  {
    name: 'a closed limiter refuses to be used, and leaves its store to others',
    run: async (store) => {
      const [closed, open] = [limiterOn(store, 'closing', limits()), limiterOn(store, 'closing', limits())];
      await ask(closed, 'a', 3);
      await closed.close();
      await closed.close();
      await assertRejects(closed.consume('a'), 'ERR_CLOSED');
      assertSame((await ask(open, 'a')).binding?.remaining, 0);
    },
  },
];

/** What every store must do with ordinary subjects. */
export const decisionChecks: readonly StoreCheck[] = [...each, ...several, ...others];

import { concurrency, slidingWindow, tokenBucket } from '../algorithms/limits.js';
import type { LimitState } from '../core/decision.js';
import { assertRejects, assertSame, assertTrue } from './assertion.js';
import { pause } from './pause.js';
import { kinds, leftOf, limiterWith } from './store-limiters.js';
import type { StoreCheck } from './store-suite.js';

const remaining = (limits: readonly LimitState[]): number[] => limits.map((limit) => limit.remaining);

const each = Object.entries(kinds).flatMap(([kind, of]): StoreCheck[] => [
  {
    name: `${kind} puts a real cost in place of a reserved one, once`,
    run: async (store) => {
      const limiter = limiterWith(store, `settle-${kind}`, { limits: of(10) });
      const [less, more] = [await limiter.reserve('a', { cost: 4 }), await limiter.reserve('a', { cost: 4 })];
      assertSame([less.allowed, more.allowed, await leftOf(limiter, 'a')], [true, true, [2]]);
      assertSame((await limiter.reserve('a', { cost: 4 })).allowed, false);
      const settled = await limiter.settle(less, 1);
      assertSame([settled.settled, settled.reason, remaining(settled.limits)], [true, undefined, [5]]);
      assertSame((await limiter.settle(less, 0)).reason, 'already-settled');
      assertSame(await limiter.refund(less), false, 'settled, so nothing is left to refund');
      const debt = await limiter.settle(more, 12);
      assertSame([debt.settled, remaining(debt.limits)], [true, [0]]);
      assertTrue((debt.limits[0]?.retryAfterMs ?? 0) > 0, 'a debt delays');
      assertSame((await limiter.consume('a')).allowed, false);
    },
  },
  {
    name: `${kind} gives back what a dead caller reserved, at the next reservation`,
    run: async (store) => {
      const limiter = limiterWith(store, `expire-${kind}`, { limits: of(10) });
      const dead = await limiter.reserve('a', { cost: 7, holdMs: 60 });
      const kept = await limiter.reserve('a', { cost: 2, holdMs: 60, onExpiry: 'keep' });
      assertSame([dead.allowed, kept.allowed], [true, true]);
      await pause(90);
      assertSame((await limiter.settle(dead, 1)).reason, 'expired');
      assertSame((await limiter.settle(kept, 1)).reason, 'expired');
      assertSame((await limiter.reserve('a', { cost: 8 })).allowed, true);
      assertSame(await leftOf(limiter, 'a'), [0], '2 kept and 8 new');
      assertSame((await limiter.settle(dead, 1)).settled, false);
    },
  },
  {
    name: `${kind} charges beyond its limit by force, and rewards the newest use`,
    run: async (store) => {
      const limiter = limiterWith(store, `force-${kind}`, { limits: of(5) });
      assertSame(remaining(await limiter.charge('a', 3)), [2]);
      assertSame(remaining(await limiter.charge('a', 4)), [0]);
      assertSame(remaining(await limiter.reward('a', 3)), [1]);
      assertSame(remaining(await limiter.reward('a', 100)), [5]);
    },
  },
  {
    name: `${kind} grants as much as there is room for`,
    run: async (store) => {
      const limiter = limiterWith(store, `part-${kind}`, { limits: of(5) });
      const first = await limiter.consumeUpTo('a', 3);
      assertSame([first.allowed, first.cost, remaining(first.limits)], [true, 3, [2]]);
      const second = await limiter.consumeUpTo('a', 3);
      assertSame([second.allowed, second.cost, second.reason], [true, 2, undefined]);
      const third = await limiter.consumeUpTo('a', 3);
      assertSame([third.allowed, third.cost, third.reason], [false, 0, 'limit-exceeded']);
      assertSame(await limiter.refund(second), true);
      assertSame(await leftOf(limiter, 'a'), [2]);
    },
  },
]);

const others: StoreCheck[] = [
  {
    name: 'a subject is blocked by hand, and let in again, whatever it has left',
    run: async (store) => {
      const limiter = limiterWith(store, 'blocks', { limits: kinds.tokenBucket(5), blocks: true });
      await limiter.block('a', '1h');
      const refused = await limiter.consume('a');
      assertSame([refused.allowed, refused.reason, refused.limits], [false, 'blocked', []]);
      const waitMs = refused.retryAfterMs ?? 0;
      assertTrue(waitMs > 3_590_000 && waitMs <= 3_600_000, 'a block says how long it lasts');
      assertSame((await limiter.peek('a')).reason, 'blocked');
      assertSame((await limiter.reserve('a')).reason, 'blocked');
      assertSame((await limiter.consumeUpTo('a', 3)).reason, 'blocked');
      assertSame((await limiter.consume('b')).allowed, true);
      assertSame([await limiter.unblock('a'), await limiter.unblock('a')], [true, false]);
      assertSame(remaining((await limiter.consume('a')).limits), [4]);
      await limiter.block('a', 60);
      await pause(90);
      assertSame((await limiter.consume('a')).allowed, true, 'a block ends by itself');
      await limiter.block('a', '1h');
      await limiter.reset('a');
      assertSame((await limiter.consume('a')).allowed, true, 'a reset forgets a block');
    },
  },
  {
    name: 'too many refusals block by themselves; refusals that waiting cannot avoid do not count',
    run: async (store) => {
      const blocks = { after: 3, within: '1h', lasts: '2h' };
      const limiter = limiterWith(store, 'penalty', { limits: slidingWindow({ limit: 1, window: '1h' }), blocks });
      const ask = async (cost = 1) => (await limiter.consume('a', { cost })).reason;
      assertSame([await ask(), await ask(2), await ask(2), await ask(2)].slice(1), Array(3).fill('cost-exceeds-limit'));
      assertSame(
        [await ask(), await ask(), await ask(), await ask()],
        ['limit-exceeded', 'limit-exceeded', 'blocked', 'blocked'],
      );
      assertTrue(((await limiter.peek('a')).retryAfterMs ?? 0) > 7_100_000, 'for as long as the policy says');
      await limiter.unblock('a');
      assertSame(await ask(), 'limit-exceeded', 'and counts from the beginning');
    },
  },
  {
    name: 'a plan is chosen per call or by the subject, and what was used stays used',
    run: async (store) => {
      const bucket = (capacity: number) => tokenBucket({ capacity, refill: 1, every: '1h' });
      const limiter = limiterWith(store, 'plans', {
        limits: bucket(2),
        plans: { pro: bucket(10) },
        planOf: (subject) => (subject.startsWith('pro-') ? 'pro' : undefined),
      });
      assertSame(remaining((await limiter.consume('a', { cost: 2 })).limits), [0]);
      assertSame(remaining((await limiter.consume('a', { plan: 'pro' })).limits), [7]);
      assertSame((await limiter.consume('a')).allowed, false);
      assertSame(await leftOf(limiter, 'pro-b'), [10]);
      await assertRejects(limiter.consume('a', { plan: 'gold' }), 'ERR_PLAN');
    },
  },
  {
    name: 'a subject gets limits of its own in every process, and loses them again',
    run: async (store) => {
      const options = {
        limits: kinds.tokenBucket(2),
        plans: { pro: kinds.tokenBucket(10) },
        overrides: true,
      };
      const [one, other] = [limiterWith(store, 'own', options), limiterWith(store, 'own', options)];
      await other.consume('a', { cost: 2 });
      await one.setOverride('a', { plan: 'pro' }, '1h');
      assertSame(remaining((await other.consume('a')).limits), [7]);
      await one.setOverride('a', { limits: [slidingWindow({ limit: 3, window: '1h' })] }, '1h');
      assertSame([remaining((await other.consume('a')).limits), await leftOf(one, 'b')], [[2], [2]]);
      assertSame([await other.removeOverride('a'), await other.removeOverride('a')], [true, false]);
      assertSame(remaining((await one.consume('a')).limits), [0]);
      await one.setOverride('a', { plan: 'pro' }, 60);
      assertSame(await leftOf(other, 'a'), [7]);
      await pause(90);
      assertSame(await leftOf(other, 'a'), [0]);
    },
  },
  {
    name: 'once a newer revision has decided for a subject, older processes follow it',
    run: async (store) => {
      const at = (revision: number, limit: number, window = '1h') =>
        limiterWith(store, 'revised', { limits: slidingWindow({ limit, window }), revision });
      const [old, next] = [at(1, 5, '1m'), at(2, 20)];
      assertSame(remaining((await old.consume('a', { cost: 3 })).limits), [2]);
      assertSame(remaining((await next.consume('a', { cost: 10 })).limits), [7]);
      assertSame(remaining((await old.consume('a', { cost: 5 })).limits), [2]);
      assertSame(remaining((await old.consume('b')).limits), [4], 'not yet for other subjects');
    },
  },
  {
    name: 'at most so many hold a place at once, and a place that is released is free',
    run: async (store) => {
      const limits = [concurrency({ limit: 2, lease: '1h' }), slidingWindow({ limit: 100, window: '1h' })];
      const limiter = limiterWith(store, 'places', { limits });
      const leases = [await limiter.acquire('a', { cost: 10 }), await limiter.acquire('a'), await limiter.acquire('a')];
      assertSame(
        leases.map(({ allowed }) => allowed),
        [true, true, false],
      );
      assertSame(leases[2]?.decision.binding?.id, 'concurrency');
      assertSame(await leftOf(limiter, 'a'), [0, 89]);
      await leases[0]?.release();
      await leases[0]?.release();
      assertSame(await leftOf(limiter, 'a'), [1, 89], 'only the place is given back, and once');
      const [refunded, reserved] = [await limiter.consume('b', { cost: 2 }), await limiter.reserve('b', { cost: 20 })];
      assertSame(await leftOf(limiter, 'b'), [0, 78]);
      assertSame(await limiter.refund(refunded, 1), true);
      assertSame(await leftOf(limiter, 'b'), [0, 79], 'a refund in part keeps the place');
      await limiter.settle(reserved, 5);
      assertSame(await leftOf(limiter, 'b'), [1, 94], 'a settled reservation holds none');
      await limiter.close();
      assertSame(await leftOf(limiterWith(store, 'places', { limits }), 'a'), [2, 89], 'closing frees what is held');
    },
  },
  {
    name: 'a lease is renewed for as long as it is held, and one that nobody renews ends by itself',
    run: async (store) => {
      const limits = concurrency({ limit: 1, lease: 150 });
      const limiter = limiterWith(store, 'lease', { limits });
      const lease = await limiter.acquire('a');
      await limiter.consume('b');
      await pause(400);
      assertSame((await limiter.consume('a')).allowed, false, 'renewed');
      assertSame((await limiter.consume('b')).allowed, true, 'ended by itself');
      // Room that is given back goes to whoever asks first: on a busy machine that may be the lease once more.
      let isFree = false;
      for (let i = 0; i < 20 && !lease.signal.aborted; i++) {
        await limiter.reset('a');
        isFree ||= (await limiter.consume('a')).allowed;
        await pause(120);
      }
      assertSame(isFree, true);
      assertSame(lease.signal.aborted, true, 'lost: the room was given to another');
    },
  },
];

/** What every store must do beside deciding. */
export const actionChecks: readonly StoreCheck[] = [...each, ...others];

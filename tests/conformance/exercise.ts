import {
  concurrency,
  fixedWindow,
  quota,
  type Store,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from 'comporta';
import { withIds } from '../../packages/comporta/src/algorithms/limits.js';
import { limiterOn } from '../../packages/comporta/src/testing/store-limiters.js';
import { until } from '../support/wait.js';

const limits = [
  tokenBucket({ capacity: 9, refill: 1, every: '1m' }),
  slidingWindow({ limit: 9, window: '1m' }),
  slidingWindow({ limit: 9, window: '1m', storage: 'sortedSet' }),
  slidingWindowCounter({ limit: 9, window: '1d' }),
  fixedWindow({ limit: 9, window: '1d' }),
  quota({ limit: 9, per: 'month' }),
];

/** Uses every operation and every algorithm; gives what failed, in the server's words. Nothing means all worked. */
export async function exercise(store: Store, subject: string): Promise<string[]> {
  const limiter = limiterOn(store, 'exercise', limits);
  const failures: string[] = [];
  limiter.on('storeError', ({ degraded }) => failures.push(degraded.detail));
  const first = await limiter.consume(subject, { cost: 3 });
  const second = await limiter.consume(subject, { cost: 4 });
  await limiter.consume(subject, { cost: 6 });
  await limiter.peek(subject, { cost: 5 });
  if (failures.length === 0) {
    const isBack = [await limiter.refund(first, 1), await limiter.refund(second)];
    if (isBack.includes(false)) failures.push('a refund gave nothing back');
  }
  const bound = store.bind({ policy: 'exercise', limits: withIds(limits) });
  const forced = limits.map(() => 1);
  await Promise.resolve(bound.force?.(subject, forced)).catch((error: Error) => failures.push(error.message));
  await limiter.reset(subject).catch((error: Error) => failures.push(error.message));
  await exerciseGates(store, subject).catch((error: Error) => failures.push(error.message));
  // The node that is asked here may be the one that no call has connected to yet.
  await until(() => store.ping().then(() => true), { timeoutMs: 300 }).catch(({ cause }: Error) =>
    failures.push(`${cause}`),
  );
  await limiter.close();
  return [...new Set(failures)];
}

/** Places that are held, and refusals that block. */
async function exerciseGates(store: Store, subject: string): Promise<void> {
  const limits = withIds([concurrency({ limit: 1 })]);
  const plan = { policy: 'gated', limits, blocks: { refusals: 1, withinMs: 1000, forMs: 1000 }, haveTerms: true };
  const bound = store.bind(plan);
  await bound.consume(subject, 1, undefined, undefined, 'holder');
  await bound.act?.({ kind: 'renew', subject, cost: 0, id: 'holder' });
  const refused = await bound.consume(subject, 1, undefined, undefined, 'other');
  if (refused.blockedMs !== 1000) throw new Error('a refusal did not block');
  await bound.act?.({ kind: 'release', subject, cost: 0, id: 'holder' });
  await bound.reset(subject);
}

/** Waits until the store decides for a subject; false when it does not in time. */
export function connected(store: Store, subject: string, timeoutMs: number): Promise<boolean> {
  const limiter = limiterOn(store, 'connected', slidingWindow({ limit: 1, window: '1s' }));
  const decides = async () => (await limiter.peek(subject)).degraded === undefined;
  return until(decides, { timeoutMs }).then(
    () => true,
    () => false,
  );
}

import type { Limit } from '../algorithms/algorithm.js';
import { fixedWindow, quota, slidingWindow, slidingWindowCounter, tokenBucket } from '../algorithms/limits.js';
import type { Decision } from '../core/decision.js';
import { createLimiter } from '../limiter/create.js';
import type { Limiter, LimiterOptions } from '../limiter/limiter.js';
import type { Store } from '../stores/store.js';
import { assertSame } from './assertion.js';

/** Each algorithm with room for `limit`, so slow to give it back that a test sees none of that. */
export const kinds = {
  tokenBucket: (limit: number): Limit => tokenBucket({ capacity: limit, refill: 1, every: '1h' }),
  slidingWindow: (limit: number): Limit => slidingWindow({ limit, window: '1h' }),
  slidingWindowCounter: (limit: number): Limit => slidingWindowCounter({ limit, window: '365d' }),
  fixedWindow: (limit: number): Limit => fixedWindow({ limit, window: '1h', align: 'first-hit' }),
  quota: (limit: number): Limit => quota({ limit, per: 'year', timeZone: 'Asia/Kathmandu' }),
};

/** A limiter that waits for its store long enough for any machine, and never decides without it. */
export function limiterWith(store: Store, policy: string, options: Omit<LimiterOptions, 'policy' | 'store'>): Limiter {
  return createLimiter({ policy, store, timeoutMs: 10_000, onStoreFailure: 'closed', ...options });
}

export const limiterOn = (store: Store, policy: string, limits: Limit | readonly Limit[]): Limiter =>
  limiterWith(store, policy, { limits });

/** A decision that the store made; a degraded one says nothing about it. */
export async function ask(limiter: Limiter, subject: string, cost = 1): Promise<Decision> {
  const decision = await limiter.consume(subject, { cost });
  assertSame(decision.degraded, undefined, 'the store must decide');
  return decision;
}

/** What each limit of a subject has left. */
export const leftOf = async (limiter: Limiter, subject: string): Promise<number[]> =>
  (await limiter.peek(subject)).limits.map(({ remaining }) => remaining);

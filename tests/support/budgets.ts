import { fixedWindow, type Limit, quota, slidingWindow, slidingWindowCounter, tokenBucket } from 'comporta';

/** One limit of each kind that counts costs. Nothing comes back by itself while a test runs. */
export const budgets: Readonly<Record<string, (limit: number) => Limit>> = {
  tokenBucket: (limit) => tokenBucket({ capacity: limit, refill: 1, every: '1h' }),
  slidingWindow: (limit) => slidingWindow({ limit, window: '1h' }),
  slidingWindowCounter: (limit) => slidingWindowCounter({ limit, window: '365d' }),
  fixedWindow: (limit) => fixedWindow({ limit, window: '1h', align: 'first-hit' }),
  quota: (limit) => quota({ limit, per: 'year', timeZone: 'Asia/Kathmandu' }),
};

export const budgetOf = (kind: string, limit: number): Limit => (budgets[kind] as (limit: number) => Limit)(limit);

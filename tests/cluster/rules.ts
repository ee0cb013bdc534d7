import { type Limit, slidingWindow, tokenBucket } from 'comporta';
import type { BucketRule, WindowRule } from './exactness.js';

/** The limits of the hot subject, as workers build them and as the checks know them. */
export const HOT_BUCKET: BucketRule = { capacity: 200, rate: 0.3, tickUs: 1 };
export const HOT_WINDOW: WindowRule = { limit: 300, windowMs: 1000 };
/** The limit of each of many subjects. */
export const SMALL_BUCKET: BucketRule = { capacity: 4, rate: 0.002, tickUs: 1000 };

const bucketOf = ({ capacity, rate }: BucketRule): Limit =>
  tokenBucket({ capacity, refill: Math.round(rate * 1000), every: '1s' });

export type RuleName = 'bucket' | 'window' | 'small';

export const limitsByName: Readonly<Record<RuleName, Limit>> = {
  bucket: bucketOf(HOT_BUCKET),
  window: slidingWindow({ limit: HOT_WINDOW.limit, window: HOT_WINDOW.windowMs }),
  small: bucketOf(SMALL_BUCKET),
};

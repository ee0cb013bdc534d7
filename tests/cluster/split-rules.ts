import { fixedWindow, slidingWindow, tokenBucket } from 'comporta';

export const SPLIT_LIMIT = 1203;
export const SPLIT_PARTS = 8;

/** Limits that give nothing back while a test lasts, and do not divide evenly. */
export const SPLIT_LIMITS = {
  bucket: tokenBucket({ capacity: SPLIT_LIMIT, refill: 1, every: '1h' }),
  log: slidingWindow({ limit: SPLIT_LIMIT, window: '1h' }),
  window: fixedWindow({ limit: SPLIT_LIMIT, window: '1h', align: 'first-hit' }),
};

export type SplitRule = keyof typeof SPLIT_LIMITS;

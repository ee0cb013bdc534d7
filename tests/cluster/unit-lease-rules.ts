import { type LimiterOptions, slidingWindow, tokenBucket } from 'comporta';

const window = slidingWindow({ limit: 1500, window: 500 });

/** Limits with leases, each at less than the load of one process. */
export const LEASED_LIMITS = {
  bucket: {
    limits: tokenBucket({ capacity: 1000, refill: 2000, every: '1s' }),
    lease: { maxOvershoot: '10%', lasts: 100 },
  },
  plain: { limits: window, lease: { maxOvershoot: '10%', lasts: 100 } },
  strict: { limits: window, lease: { maxOvershoot: '10%', lasts: 100, strict: true } },
} satisfies Record<string, Omit<LimiterOptions, 'policy'>>;

export type LeasedRule = keyof typeof LEASED_LIMITS;

import { createLimiter, slidingWindow, tokenBucket } from 'comporta';
import { httpStore } from 'comporta/http-store';
import { runWorker } from '../support/worker.js';

export interface Load {
  readonly url: string;
  readonly token: string;
  readonly calls: number;
}

export const limits = [
  slidingWindow({ limit: 100, window: '1h' }),
  tokenBucket({ capacity: 100, refill: 1, every: '10d' }),
];

/** Asks as fast as it can, 32 at a time; how many were admitted, and how many were not decided by the store. */
runWorker(async ({ url, token, calls }: Load) => {
  const store = httpStore(url, { token });
  const limiter = createLimiter({ policy: 'many', limits, store, timeoutMs: 5000, onStoreFailure: 'closed' });
  let [left, admitted, degraded] = [calls, 0, 0];
  const ask = async (): Promise<void> => {
    while (left-- > 0) {
      const decision = await limiter.consume('shared');
      if (decision.allowed) admitted++;
      if (decision.degraded !== undefined) degraded++;
    }
  };
  await Promise.all(Array.from({ length: 32 }, ask));
  await store.close();
  return { admitted, degraded };
});

import assert from 'node:assert/strict';
import { createLimiter, type Decision, type Limiter, type LimiterOptions, tokenBucket } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterEach } from 'vitest';
import { until } from '../support/wait.js';

/** So slow that nothing comes back during a test. */
export const bucket = (capacity: number) => tokenBucket({ capacity, refill: 1, every: '8h' });

/** Size of the limit that a decision of the store was made by. */
export function sizeOf(decision: Decision): number | undefined {
  assert.equal(decision.degraded, undefined, decision.degraded?.detail);
  return decision.limits[0]?.limit;
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A limiter with a store of its own, as another process has it; ends with the test. */
export async function processOf(url: string, options: Partial<LimiterOptions>): Promise<Limiter> {
  // One by one, for calls are counted.
  const store = redisStore(url, { batch: false });
  const settings = { policy: 'api', limits: bucket(100), timeoutMs: 10_000, onStoreFailure: 'closed' } as const;
  const limiter = createLimiter({ ...settings, store, ...options });
  ends.push(() => limiter.close().then(() => store.close()));
  await until(() => store.ping().then(() => true), { what: 'a connection' });
  // Loads the scripts, so that later calls are counted without that.
  for (const kind of ['consume', 'peek'] as const) {
    await until(async () => (await limiter[kind]('warm')).degraded === undefined, { what: 'a decision of the store' });
  }
  return limiter;
}

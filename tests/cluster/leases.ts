import { concurrency, createLimiter, type Limiter, type LimiterOptions, type Store } from 'comporta';
import type { Server } from '../support/servers.js';
import type { Hold } from './lease-worker.js';

/** The most that were held at one moment. */
export function mostAtOnce(holds: readonly Hold[]): number {
  const steps = holds.flatMap(({ fromUs, toUs }) => [
    { atUs: fromUs, by: 1 },
    { atUs: toUs, by: -1 },
  ]);
  // Who leaves in the same microsecond leaves first.
  steps.sort((a, b) => a.atUs - b.atUs || a.by - b.by);
  let [now, most] = [0, 0];
  for (const { by } of steps) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

/** What a server has on record of a policy's places for the subject `hot`. */
export interface OnRecord {
  readonly atMs: number;
  /** Ends of the leases by their holders, those that have ended left out. */
  readonly living: ReadonlyMap<string, number>;
}

/** Reads the record in one step, by the server's own clock. */
export async function recordOf(server: Server, policy: string): Promise<OnRecord> {
  const script = `local t = redis.call('TIME')
return { t[1], t[2], redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES') }`;
  const key = `cmp1:{hot}:${policy}:concurrency:cc`;
  const [seconds, micros, pairs] = (await server.command('EVAL', script, 1, key)) as [string, string, string[]];
  const atMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  const living = new Map<string, number>();
  for (let i = 0; i < pairs.length; i += 2) {
    const untilMs = Number(pairs[i + 1]);
    if (untilMs > atMs) living.set(pairs[i] as string, untilMs);
  }
  return { atMs, living };
}

/** A limiter of the test's own. */
export function limiterOn(
  store: Store,
  policy: string,
  limit: number,
  leaseMs: number,
  options: Partial<LimiterOptions> = {},
): Limiter {
  const limits = concurrency({ limit, lease: leaseMs });
  return createLimiter({ policy, limits, store, onStoreFailure: 'closed', timeoutMs: 2000, ...options });
}

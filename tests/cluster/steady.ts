import { createLimiter, fixedWindow, type Limiter, slidingWindow, tokenBucket } from 'comporta';
import { redisStore } from 'comporta/redis';
import { until } from '../support/wait.js';

export interface SteadyArgs {
  readonly url: string;
  readonly policies: readonly PolicyName[];
  readonly subjects: readonly string[];
  readonly inFlight: number;
  readonly timeoutMs: number;
  /** Rest of each of the callers after an answer. */
  readonly restMs: number;
}

export interface DegradedCall {
  readonly key: string;
  readonly cause: string;
  readonly detail: string;
  /** How much of the time this process stood still. */
  readonly stalledMs: number;
}

export interface SteadyLog {
  readonly calls: number;
  /** Decisions that the store allowed, by policy and subject. */
  readonly allowed: ReadonlyMap<string, number>;
  readonly refused: number;
  readonly degraded: readonly DegradedCall[];
  /** How long each decision took. */
  readonly tookMs: Float64Array;
}

export type PolicyName = 'one' | 'three';

/** Nothing reaches these limits, and none forgets in the time of a test: what is left tells what was charged. */
const ROOM = 1_000_000;
const policies = {
  one: [slidingWindow({ limit: ROOM, window: '1d' })],
  three: [
    slidingWindow({ limit: ROOM, window: '1d' }),
    fixedWindow({ limit: ROOM, window: '365d', align: 'first-hit' }),
    tokenBucket({ capacity: ROOM, refill: 1, every: '5m' }),
  ],
};

export function steadyLimiter(
  policy: PolicyName,
  url: string,
  timeoutMs: number,
): { limiter: Limiter; close(): Promise<void> } {
  const store = redisStore(url);
  const limiter = createLimiter({ policy, limits: policies[policy], store, timeoutMs, onStoreFailure: 'closed' });
  return {
    limiter,
    close: async () => {
      await limiter.close();
      await store.close();
    },
  };
}

/** Charges that the store holds for a subject, by limit. */
export async function chargesOf(limiter: Limiter, subject: string): Promise<number[]> {
  const decided = await until(async () => {
    const decision = await limiter.peek(subject);
    return decision.degraded === undefined && decision;
  });
  return decided.limits.map(({ limit, remaining }) => limit - remaining);
}

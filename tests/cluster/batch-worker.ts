import { createLimiter, fixedWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { until } from '../support/wait.js';
import { runWorker } from '../support/worker.js';

export interface BatchArgs {
  readonly url: string;
  readonly subjects: readonly string[];
  readonly limit: number;
  readonly inFlight: number;
  readonly calls: number;
}

/** What a process was admitted of each subject, and whatever was not decided by the store. */
export interface BatchLog {
  readonly admitted: readonly number[];
  readonly degraded: readonly string[];
}

/** Costs that do not add up to a limit evenly, and one that never fits. */
const costOf = (n: number, limit: number): number => (n % 97 === 0 ? limit + 1 : 1 + (n % 5));

runWorker(async ({ url, subjects, limit, inFlight, calls }: BatchArgs, channel): Promise<BatchLog> => {
  const store = redisStore(url);
  const limits = fixedWindow({ limit, window: '1h' });
  const limiter = createLimiter({ policy: 'batch', limits, store, timeoutMs: 2000, onStoreFailure: 'closed' });
  for (const subject of subjects) {
    await until(async () => (await limiter.peek(subject)).degraded === undefined, { what: 'a decision of the store' });
  }
  channel.send('ready');
  await channel.receive();
  const admitted = subjects.map(() => 0);
  const degraded: string[] = [];
  const load = async (first: number): Promise<void> => {
    for (let n = first; n < calls; n += inFlight) {
      const at = n % subjects.length;
      const cost = costOf(Math.floor(n / subjects.length), limit);
      const decision = await limiter.consume(subjects[at] as string, { cost });
      if (decision.degraded !== undefined) degraded.push(`${decision.degraded.cause}: ${decision.degraded.detail}`);
      if (decision.allowed) admitted[at] = (admitted[at] ?? 0) + cost;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, i) => load(i)));
  await limiter.close();
  await store.close();
  return { admitted, degraded };
});

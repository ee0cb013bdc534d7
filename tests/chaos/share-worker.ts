import { createLimiter, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { until } from '../support/wait.js';
import { runWorker } from '../support/worker.js';

export interface ShareArgs {
  readonly url: string;
  readonly limit: number;
  readonly processes: number;
  readonly instances: number | 'auto';
}

export interface ShareResult {
  readonly admitted: number;
  /** Decisions that the store made though it was gone: must be none. */
  readonly byStore: number;
}

/** Uses the store until all processes know of one another, then asks for one subject with the store gone. */
runWorker(async ({ url, limit, processes, instances }: ShareArgs, channel): Promise<ShareResult> => {
  const store = redisStore(url);
  const limits = slidingWindow({ limit, window: '10m' });
  const limiter = createLimiter({ policy: 'p', limits, store, instances });
  const view = store.bind({ policy: 'view', limits: limiter.limits });
  const knowsAll = async () => {
    await limiter.consume(`warm-${channel.index}`, { cost: 0 });
    return instances !== 'auto' || view.part?.().processes === processes;
  };
  await until(knowsAll, { timeoutMs: 30_000, everyMs: 50, what: 'a count of all processes' });
  channel.send('ready');
  await channel.receive();
  let [admitted, byStore] = [0, 0];
  for (let i = 0; i < limit * 2; i++) {
    const decision = await limiter.consume('hot');
    if (decision.degraded === undefined) byStore++;
    else if (decision.allowed) admitted++;
  }
  await limiter.close();
  await store.close();
  return { admitted, byStore };
});

import { createLimiter, slidingWindow, tokenBucket } from 'comporta';
import { redisStore } from 'comporta/redis';
import { until } from '../support/wait.js';
import { runWorker } from '../support/worker.js';

export interface WaitArgs {
  readonly url: string;
  readonly rule: 'bucket' | 'window';
  readonly waiters: number;
  readonly processes: number;
}

/** What one waiter got, in the order in which answers came. */
export interface Served {
  readonly name: number;
  readonly allowed: boolean;
  readonly degraded: string | undefined;
  /** The server's time. */
  readonly atUs: number;
}

const rules = {
  bucket: tokenBucket({ capacity: 5, refill: 50, every: '1s' }),
  window: slidingWindow({ limit: 20, window: '250ms' }),
};

/** Starts all its waiters at once, on one subject that the other processes wait for too. */
runWorker(async ({ url, rule, waiters, processes }: WaitArgs, channel): Promise<Served[]> => {
  const store = redisStore(url);
  const options = { policy: rule, limits: rules[rule], store, onStoreFailure: 'closed' } as const;
  // Exactness is the question here, so the time limit is out of the way of a busy machine.
  const limiter = createLimiter({ ...options, timeoutMs: 2000 });
  const view = store.bind({ policy: rule, limits: limiter.limits });
  const knowsAll = async () => {
    await limiter.consume(`warm-${channel.index}`, { cost: 0 });
    return view.part?.().processes === processes;
  };
  await until(knowsAll, { timeoutMs: 30_000, everyMs: 50, what: 'a count of all processes' });
  channel.send('ready');
  await channel.receive();
  const served: Served[] = [];
  const wait = async (_: unknown, name: number): Promise<void> => {
    const { allowed, degraded, atUs } = await limiter.wait('hot', { maxWaitMs: 60_000 });
    served.push({ name, allowed, degraded: degraded?.detail, atUs });
  };
  await Promise.all(Array.from({ length: waiters }, wait));
  await limiter.close();
  await store.close();
  return served;
});

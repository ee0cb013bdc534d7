import { createLimiter, limitKinds } from 'comporta';
import { redisStore } from 'comporta/redis';
import { until } from '../support/wait.js';
import { runWorker } from '../support/worker.js';

export interface ShareArgs {
  readonly url: string;
  /** Name of the algorithm, and its settings. */
  readonly kind: string;
  readonly settings: Readonly<Record<string, string | number>>;
  readonly processes: number;
  readonly instances: number | 'auto';
  /** Requests that each process has the store admit before the outage may begin. */
  readonly before: number;
  /** Requests of each process without the store. */
  readonly during: number;
}

/** What one process let pass of one subject. */
export interface ShareResult {
  readonly byStore: number;
  readonly locally: number;
}

/** Between two requests of one process before the outage, so that the load of all is even. */
const PACE_MS = 20;

/**
 * Uses the store until all processes know of one another, loads one subject, goes on while the store
 * goes away and until `during` decisions were made without it; then stays until all is paid back.
 */
runWorker(async (args: ShareArgs, channel): Promise<ShareResult> => {
  const { url, kind, settings, processes, instances } = args;
  const store = redisStore(url);
  const limits = (limitKinds[kind] as (typeof limitKinds)[string]).build(settings);
  const limiter = createLimiter({ policy: 'p', limits, store, instances });
  const view = store.bind({ policy: 'p', limits: limiter.limits });
  const knowsAll = async () => {
    const { degraded } = await limiter.consume(`warm-${channel.index}`, { cost: 0 });
    return degraded === undefined && (instances !== 'auto' || view.part?.().processes === processes);
  };
  await until(knowsAll, { timeoutMs: 30_000, everyMs: 50, what: 'a count of all processes' });
  channel.send('ready');
  await channel.receive();
  let [byStore, locally, asked] = [0, 0, 0];
  const ask = async (): Promise<void> => {
    const { allowed, degraded } = await limiter.consume('hot');
    if (degraded !== undefined) asked++;
    if (allowed && degraded === undefined) byStore++;
    if (allowed && degraded !== undefined) locally++;
  };
  while (asked === 0) {
    await ask();
    if (byStore === args.before && asked === 0) channel.send('loaded');
    await new Promise((resolve) => setTimeout(resolve, PACE_MS));
  }
  // Nobody would hear 'loaded', and wait for it without end.
  if (byStore < args.before) throw new Error('the store did not decide in time before the outage');
  while (asked < args.during) await ask();
  channel.send({ byStore, locally });
  await channel.receive();
  const isBack = async () => (await limiter.consume(`other-${channel.index}`)).degraded === undefined;
  await until(isBack, { timeoutMs: 30_000, everyMs: 50, what: 'an answer of the store' });
  channel.send('back');
  await channel.receive();
  await limiter.close();
  await store.close();
  return { byStore, locally };
});

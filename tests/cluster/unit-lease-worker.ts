import { createLimiter, type Decision, type Limiter } from 'comporta';
import { redisStore } from 'comporta/redis';
import { runWorker } from '../support/worker.js';
import type { Admission } from './exactness.js';
import { monotonicUs } from './monotonic.js';
import { LEASED_LIMITS, type LeasedRule } from './unit-lease-rules.js';

export interface LeasedArgs {
  readonly url: string;
  readonly processes: number;
  readonly forMs: number;
}

export interface LeasedLog {
  readonly rule: LeasedRule;
  readonly admitted: readonly Admission[];
  /** Decisions that were there at once. */
  readonly local: number;
  readonly calls: number;
  readonly degraded: number;
}

/** Idle for as long as it asks: leases lie unused, and are used late. */
const ON_MS = 40;
const AT_ONCE = 40;

runWorker(async ({ url, processes, forMs }: LeasedArgs, channel): Promise<LeasedLog[]> => {
  const store = redisStore(url);
  const shared = { store, instances: processes, timeoutMs: 2000 };
  const limiters = Object.entries(LEASED_LIMITS).map(([rule, options]) => ({
    rule: rule as LeasedRule,
    limiter: createLimiter({ policy: rule, ...options, ...shared }),
  }));
  await store.ready(5000);
  channel.send('ready');
  await channel.receive();
  const endUs = monotonicUs() + forMs * 1000;
  const logs = await Promise.all(
    limiters.map(async ({ rule, limiter }) => ({ rule, ...(await load(limiter, endUs)) })),
  );
  await Promise.all(limiters.map(({ limiter }) => limiter.close()));
  await store.close();
  return logs;
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function load(limiter: Limiter, endUs: number): Promise<Omit<LeasedLog, 'rule'>> {
  const admitted: Admission[] = [];
  let [calls, local, degraded] = [0, 0, 0];
  const log = (decision: Decision, sentUs: number, atUs: number): void => {
    if (decision.degraded !== undefined) degraded++;
    if (decision.allowed) admitted.push({ atUs, sentUs, heardUs: monotonicUs() });
  };
  for (let nowUs = monotonicUs(); nowUs < endUs; nowUs = monotonicUs()) {
    if (Math.floor(nowUs / 1000 / ON_MS) % 2 === 1) await pause(5);
    const asked: Promise<void>[] = [];
    for (let i = 0; i < AT_ONCE; i++) {
      const sentUs = monotonicUs();
      const decision = limiter.decide('hot');
      calls++;
      if (decision instanceof Promise) asked.push(decision.then((later) => log(later, sentUs, later.atUs)));
      else {
        local++;
        // Admitted now, whenever it was charged: the server's clock is that of this machine.
        log(decision, sentUs, Date.now() * 1000);
      }
    }
    await Promise.all(asked);
    await pause(1);
  }
  return { admitted, local, calls, degraded };
}

import { createLimiter, type Decision, type Limiter } from 'comporta';
import { redisStore } from 'comporta/redis';
import { runWorker } from '../support/worker.js';
import { SPLIT_LIMITS, SPLIT_PARTS, type SplitRule } from './split-rules.js';

export interface SplitArgs {
  readonly url: string;
  /** Units that this process asks for, by subject. */
  readonly units: Readonly<Record<string, number>>;
}

export interface SplitLog {
  readonly rule: SplitRule;
  readonly subject: string;
  readonly asked: number;
  readonly admitted: readonly Decision[];
  readonly degraded: number;
}

const AT_ONCE = 16;
const COST_MAX = 3;

runWorker(async ({ url, units }: SplitArgs, channel): Promise<SplitLog[]> => {
  const store = redisStore(url);
  const limiters = Object.entries(SPLIT_LIMITS).map(([rule, limits]) => ({
    rule: rule as SplitRule,
    limiter: createLimiter({ policy: rule, limits, store, timeoutMs: 5000, split: { parts: SPLIT_PARTS } }),
  }));
  await store.ready(5000);
  channel.send('ready');
  await channel.receive();
  const logs: SplitLog[] = [];
  for (const { rule, limiter } of limiters) {
    for (const [subject, most] of Object.entries(units)) logs.push({ rule, ...(await load(limiter, subject, most)) });
  }
  await Promise.all(limiters.map(({ limiter }) => limiter.close()));
  await store.close();
  return logs;
});

/** Asks for so many units, a few at a time. */
async function load(limiter: Limiter, subject: string, most: number): Promise<Omit<SplitLog, 'rule'>> {
  const admitted: Decision[] = [];
  let [asked, degraded] = [0, 0];
  const ask = async (): Promise<void> => {
    while (asked < most) {
      const cost = Math.min(most - asked, 1 + Math.floor(Math.random() * COST_MAX));
      asked += cost;
      const decision = await limiter.consume(subject, { cost });
      if (decision.degraded !== undefined) degraded++;
      if (decision.allowed) admitted.push(decision);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return { subject, asked, admitted, degraded };
}

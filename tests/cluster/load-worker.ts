import { createLimiter, type Limiter, type Store } from 'comporta';
import { redisStore } from 'comporta/redis';
import { until } from '../support/wait.js';
import { runWorker } from '../support/worker.js';
import type { Admission } from './exactness.js';
import { monotonicUs } from './monotonic.js';
import { limitsByName, type RuleName } from './rules.js';

export interface LoadArgs {
  readonly url: string;
  /** One policy per rule, each with `inFlight` requests at any time. */
  readonly rules: readonly RuleName[];
  readonly subjects: readonly string[];
  readonly inFlight: number;
  readonly forMs: number;
  /** Refusals may be answered from memory; else the server decides every request. */
  readonly isHeld?: boolean;
}

/** What one policy of one worker saw. */
export interface LoadLog {
  readonly rule: RuleName;
  readonly calls: number;
  readonly denied: number;
  readonly degraded: readonly string[];
  /** By subject, only those with any. */
  readonly admitted: ReadonlyMap<string, readonly Admission[]>;
  /** The server's time of the last decision, whatever it was. */
  readonly lastAtUs: number;
}

// Exactness is the question here, so the time limit is out of the way of a busy machine.
const TIMEOUT_MS = 2000;

runWorker(async (args: LoadArgs, channel): Promise<LoadLog[]> => {
  const store = redisStore(args.url);
  await until(() => store.ping().then(() => true), { what: 'a connection' });
  const limiters = args.rules.map((rule) => limiterOf(rule, store, args.isHeld === true));
  for (const { limiter } of limiters) await warm(limiter, args.subjects);
  channel.send('ready');
  await channel.receive();
  const logs = await Promise.all(limiters.map(({ rule, limiter }) => load(rule, limiter, args)));
  for (const { limiter } of limiters) await limiter.close();
  await store.close();
  return logs;
});

function limiterOf(
  rule: RuleName,
  store: Store,
  isHeld: boolean,
): { readonly rule: RuleName; readonly limiter: Limiter } {
  const hold = isHeld ? {} : ({ hold: false } as const);
  const options = { policy: rule, limits: limitsByName[rule], store, timeoutMs: TIMEOUT_MS, ...hold };
  return { rule, limiter: createLimiter({ ...options, onStoreFailure: 'closed' }) };
}

/** Looks change nothing; they wait for a connection to every node. */
async function warm(limiter: Limiter, subjects: readonly string[]): Promise<void> {
  for (const subject of subjects.slice(0, 50)) {
    await until(async () => (await limiter.peek(subject)).degraded === undefined, { what: 'a decision of the store' });
  }
}

async function load(rule: RuleName, limiter: Limiter, args: LoadArgs): Promise<LoadLog> {
  const admitted = new Map<string, Admission[]>();
  const degraded: string[] = [];
  const totals = { calls: 0, denied: 0, lastAtUs: 0 };
  const endUs = monotonicUs() + args.forMs * 1000;
  let next = Math.floor(Math.random() * args.subjects.length);
  const loop = async (): Promise<void> => {
    for (let sentUs = monotonicUs(); sentUs < endUs; sentUs = monotonicUs()) {
      const subject = args.subjects[next++ % args.subjects.length] ?? '';
      const decision = await limiter.consume(subject);
      totals.calls++;
      totals.lastAtUs = Math.max(totals.lastAtUs, decision.atUs);
      if (decision.degraded !== undefined) degraded.push(`${decision.degraded.cause}: ${decision.degraded.detail}`);
      else if (!decision.allowed) totals.denied++;
      else {
        const list = admitted.get(subject) ?? [];
        list.push({ atUs: decision.atUs, sentUs, heardUs: monotonicUs() });
        admitted.set(subject, list);
      }
    }
  };
  await Promise.all(Array.from({ length: args.inFlight }, loop));
  return { rule, ...totals, degraded, admitted };
}

import { createLimiter, type Decision, type Limiter, type Store } from 'comporta';
import { redisStore } from 'comporta/redis';
import { until } from '../support/wait.js';
import { runWorker } from '../support/worker.js';
import { changes, isBy, NEXT, OLD, subjects } from './live-change-cases.js';
import { monotonicUs } from './monotonic.js';

export interface ChangeArgs {
  readonly url: string;
  /** Part of the policies' names, so that runs on one cluster share nothing. */
  readonly run: string;
  /** When the new settings reach this process. */
  readonly changeAtMs: number;
  readonly forMs: number;
  /** Processes name the revision of their settings. */
  readonly areRevised: boolean;
}

/** What one process saw of one subject under one change. Times are the server's. */
export interface ChangeLog {
  readonly change: string;
  readonly subject: string;
  calls: number;
  /** Decisions by the new limit that this process made while it had the old settings. */
  followed: number;
  firstNextUs: number;
  lastOldUs: number;
  readonly faults: string[];
  readonly admitted: { readonly atUs: number; readonly isNext: boolean }[];
}

const IN_FLIGHT = 2;

runWorker(async (args: ChangeArgs, channel): Promise<ChangeLog[]> => {
  const store = redisStore(args.url);
  await until(() => store.ping().then(() => true), { what: 'a connection' });
  const limiters = Object.keys(changes).map((change) => {
    const [old, next] = [limiterOf(change, 'old', store, args), limiterOf(change, 'next', store, args)];
    return { change, old, next };
  });
  for (const { old } of limiters) {
    for (const subject of subjects) {
      await until(async () => (await old.peek(subject)).degraded === undefined, { what: 'a decision of the store' });
    }
  }
  channel.send('ready');
  await channel.receive();
  const startUs = monotonicUs();
  const logs = await Promise.all(limiters.map((each) => load(each, startUs, args)));
  for (const { old, next } of limiters) await Promise.all([old.close(), next.close()]);
  await store.close();
  return logs.flat();
});

function limiterOf(change: string, which: 'old' | 'next', store: Store, { run, areRevised }: ChangeArgs): Limiter {
  const limits = changes[change]?.[which] ?? [];
  const revision = areRevised ? { revision: which === 'old' ? OLD : NEXT } : {};
  const policy = `${run}-${change}`;
  // A hold answers by what was known: a raised limit reaches a subject that was just refused one hold late.
  const asked = { hold: false, timeoutMs: 10_000, onStoreFailure: 'closed' } as const;
  return createLimiter({ policy, limits, store, ...asked, ...revision });
}

interface Limiters {
  readonly change: string;
  readonly old: Limiter;
  readonly next: Limiter;
}

async function load({ change, old, next }: Limiters, startUs: number, args: ChangeArgs): Promise<ChangeLog[]> {
  const logs = subjects.map((subject) => emptyLog(change, subject));
  let turn = 0;
  const loop = async (): Promise<void> => {
    for (let passedMs = 0; passedMs < args.forMs; passedMs = (monotonicUs() - startUs) / 1000) {
      const log = logs[turn++ % logs.length] as ChangeLog;
      const isOld = passedMs < args.changeAtMs;
      note(log, await (isOld ? old : next).consume(log.subject), isOld);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, loop));
  return logs;
}

function emptyLog(change: string, subject: string): ChangeLog {
  const bounds = { firstNextUs: Number.POSITIVE_INFINITY, lastOldUs: 0 };
  return { change, subject, calls: 0, followed: 0, ...bounds, faults: [], admitted: [] };
}

function note(log: ChangeLog, { allowed, atUs, degraded, limits }: Decision, isOld: boolean): void {
  const { old, next } = changes[log.change] ?? {};
  const [state] = limits;
  const isNext = next !== undefined && isBy(next, state);
  log.calls++;
  if (degraded !== undefined) log.faults.push(`${degraded.cause}: ${degraded.detail}`);
  else if (old === undefined || (!isNext && !isBy(old, state))) log.faults.push(`by ${JSON.stringify(state)}`);
  else if ((state?.remaining ?? -1) < 0) log.faults.push(`${state?.remaining} remaining`);
  if (isNext) log.firstNextUs = Math.min(log.firstNextUs, atUs);
  else log.lastOldUs = Math.max(log.lastOldUs, atUs);
  if (isNext && isOld) log.followed++;
  if (allowed) log.admitted.push({ atUs, isNext });
}

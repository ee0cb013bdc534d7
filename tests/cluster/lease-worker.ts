import { concurrency, createLimiter, type Lease, type Limiter } from 'comporta';
import { redisStore } from 'comporta/redis';
import { sleep, until } from '../support/wait.js';
import { type Channel, runWorker } from '../support/worker.js';
import { monotonicUs } from './monotonic.js';

export interface LeaseArgs {
  readonly url: string;
  readonly policy: string;
  readonly limit: number;
  readonly leaseMs: number;
  /** Many short holds, or some that last until the test says so. */
  readonly role: 'busy' | 'holder';
  /** Tasks at once, or places. */
  readonly count: number;
}

/** A task's own view of its hold: within what the store counted. */
export interface Hold {
  readonly fromUs: number;
  readonly toUs: number;
}

export const ROUNDS = 4;

/** What a holder tells: the ids that it holds, then each that it lost, then that it released. */
export type Told =
  | { readonly kind: 'holds'; readonly ids: readonly string[] }
  | { readonly kind: 'lost'; readonly id: string }
  | { readonly kind: 'released' };

runWorker(async (args: LeaseArgs, channel): Promise<Hold[]> => {
  const { url, policy, limit, leaseMs, role } = args;
  const store = redisStore(url);
  const limits = concurrency({ limit, lease: leaseMs });
  // A question that is given up may still take a place, which would be missing until its lease ends.
  const limiter = createLimiter({ policy, limits, store, onStoreFailure: 'closed', timeoutMs: 30_000 });
  await until(async () => (await limiter.peek('hot')).degraded === undefined, { what: 'a store that answers' });
  const holds = role === 'busy' ? await work(limiter, args.count, channel) : await hold(limiter, args.count, channel);
  await limiter.close();
  await store.close();
  return holds;
});

async function work(limiter: Limiter, tasks: number, channel: Channel): Promise<Hold[]> {
  const holds: Hold[] = [];
  channel.send('ready');
  await channel.receive();
  const task = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) {
      await using lease = await limiter.acquire('hot', { maxWaitMs: 100_000 });
      const fromUs = monotonicUs();
      if (!lease.allowed) throw new Error(`refused: ${lease.decision.degraded?.detail ?? lease.decision.reason}`);
      await sleep(Math.random() * 20);
      holds.push({ fromUs, toUs: monotonicUs() });
    }
  };
  await Promise.all(Array.from({ length: tasks }, task));
  return holds;
}

/** Told to `release` or to `end`. */
async function hold(limiter: Limiter, count: number, channel: Channel): Promise<Hold[]> {
  const tell = (told: Told): void => channel.send(told);
  const leases: Lease[] = [];
  for (let i = 0; i < count; i++) leases.push(await limiter.acquire('hot'));
  for (const { signal, decision } of leases) {
    signal.addEventListener('abort', () => tell({ kind: 'lost', id: decision.id }));
  }
  tell({ kind: 'holds', ids: leases.filter(({ allowed }) => allowed).map(({ decision }) => decision.id) });
  for (;;) {
    if ((await channel.receive<'release' | 'end'>()) === 'end') return [];
    // Twice, and settled decisions once more: nobody else's place may go.
    for (const lease of leases) await lease.release();
    for (const lease of leases) await lease.release();
    for (const { decision } of leases) await limiter.refund(decision);
    tell({ kind: 'released' });
  }
}

import { createLimiter, type Limiter } from 'comporta';
import { budgetOf } from '../support/budgets.js';
import { until } from '../support/wait.js';
import { runWorker } from '../support/worker.js';
import { monotonicUs } from './monotonic.js';
import { openStore, randomFrom } from './reservations-rules.js';

export interface SpendArgs {
  readonly url: string;
  readonly kinds: readonly string[];
  readonly limit: number;
  readonly callers: number;
  readonly attempts: number;
  /** Largest real cost, in estimates. */
  readonly mostTimes: number;
}

/** One reservation that was granted and settled, on a clock that all processes share. */
export interface Spent {
  readonly kind: string;
  readonly reserved: number;
  readonly real: number;
  readonly grantedUs: number;
  readonly settlingUs: number;
  readonly isSettled: boolean;
}

// Callers that reserve, work for a moment and settle, as many at once as there are, for one subject of each kind.
runWorker(async (args: SpendArgs, channel): Promise<Spent[]> => {
  const { store, close } = openStore(args.url, channel.index % 2 === 1);
  const spent: Spent[] = [];
  const limiters = args.kinds.map((kind) => {
    const limits = budgetOf(kind, args.limit);
    return createLimiter({ policy: kind, limits, store, timeoutMs: 20_000, onStoreFailure: 'closed' });
  });
  for (const limiter of limiters) {
    await until(async () => (await limiter.peek('budget')).degraded === undefined, { what: 'a decision of the store' });
  }
  channel.send('ready');
  await channel.receive();
  const call = async (limiter: Limiter, caller: number): Promise<void> => {
    const random = randomFrom(1000 * channel.index + caller);
    for (let i = 0; i < args.attempts; i++) {
      const cost = 1 + random(10);
      const reservation = await limiter.reserve('budget', { cost });
      if (reservation.degraded !== undefined) throw new Error(reservation.degraded.detail);
      if (!reservation.allowed) continue;
      const grantedUs = monotonicUs();
      const real = random(cost * args.mostTimes + 1);
      const settlingUs = monotonicUs();
      const { settled } = await limiter.settle(reservation, real);
      spent.push({ kind: limiter.policy, reserved: cost, real, grantedUs, settlingUs, isSettled: settled });
    }
  };
  await Promise.all(limiters.flatMap((limiter) => Array.from({ length: args.callers }, (_, i) => call(limiter, i))));
  await close();
  return spent;
});

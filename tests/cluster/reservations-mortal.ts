import { createLimiter } from 'comporta';
import { budgetOf } from '../support/budgets.js';
import { until } from '../support/wait.js';
import { runWorker } from '../support/worker.js';
import { openStore } from './reservations-rules.js';

/** What becomes of a reservation: settled by its maker, by the test, by both at once, or by nobody. */
export type Fate = 'self' | 'other' | 'both' | 'nobody';

export interface Plan {
  readonly kind: string;
  readonly subject: string;
  readonly cost: number;
  readonly fate: Fate;
  readonly real: number;
}

export interface MortalArgs {
  readonly url: string;
  readonly limit: number;
  readonly plans: readonly Plan[];
  readonly shortHoldMs: number;
}

const HOLD_MS = 600_000;

// Reserves what it is told, hands each reservation out as text, and then reserves on and on until it is killed.
runWorker(async ({ url, limit, plans, shortHoldMs }: MortalArgs, channel): Promise<void> => {
  const { store } = openStore(url, channel.index % 2 === 1);
  const limiterOf = (kind: string) =>
    createLimiter({
      policy: `m-${kind}`,
      limits: budgetOf(kind, limit),
      store,
      timeoutMs: 20_000,
      onStoreFailure: 'closed',
    });
  const limiters = new Map([...new Set(plans.map(({ kind }) => kind))].map((kind) => [kind, limiterOf(kind)]));
  const each = plans.map((plan) => ({ ...plan, limiter: limiters.get(plan.kind) as ReturnType<typeof limiterOf> }));
  for (const { limiter, subject } of each.slice(0, 50)) {
    await until(async () => (await limiter.peek(subject)).degraded === undefined, { what: 'a decision of the store' });
  }
  const made = await Promise.all(
    each.map(({ limiter, subject, cost, fate }) =>
      limiter.reserve(subject, { cost, holdMs: fate === 'nobody' ? shortHoldMs : HOLD_MS }),
    ),
  );
  const settle = (fate: Fate) =>
    Promise.all(
      each.map(async ({ limiter, fate: its, real }, i) =>
        its === fate ? ((await limiter.settle(made[i] as (typeof made)[number], real + 1)).reason ?? 'settled') : '',
      ),
    );
  const own = await settle('self');
  channel.send({ own, texts: made.map((reservation) => JSON.stringify(reservation)) });
  await channel.receive();
  channel.send(await settle('both'));
  for (let reserved = 0; ; reserved++) {
    const { limiter, subject } = each[reserved % each.length] as (typeof each)[number];
    await limiter.reserve(subject, { holdMs: shortHoldMs });
    if (reserved === 100) channel.send('reserving');
  }
});

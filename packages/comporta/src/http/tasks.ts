import type { Decision } from '../core/decision.js';
import type { RequestView } from '../identity/view.js';
import type { Ask } from './ask.js';
import type { Task } from './finish.js';
import type { Rule } from './rule.js';

/** A policy that applies to a request, with what to ask its limiter. */
export interface Met<Request> extends Ask {
  readonly rule: Rule<Request>;
}

export const NO_TASKS: readonly Task[] = [];

/** What is to be done when the response to an allowed request has ended. */
export function tasksOf<Request>(
  view: RequestView<Request>,
  asks: readonly Met<Request>[],
  decisions: readonly Decision[],
): readonly Task[] {
  if (asks.every(({ rule }) => rule.finalCost === undefined && !rule.holds)) return NO_TASKS;
  const tasks: Task[] = [];
  for (let i = 0; i < asks.length; i++) {
    const ask = asks[i] as Met<Request>;
    const { rule, limiter } = ask;
    const { finalCost, holds } = rule;
    const decision = decisions[i] as Decision;
    if (!decision.allowed) continue;
    const lease = holds ? limiter.hold(decision) : undefined;
    if (lease?.holds === true) tasks.push(() => lease.release());
    if (finalCost !== undefined)
      tasks.push((outcome) => correct(ask, decision, finalCost(outcome, decision.cost, view)));
  }
  return tasks;
}

/** Puts the final cost in place of what was charged. */
function correct(ask: Ask, decision: Decision, cost: number): Promise<unknown> | undefined {
  if (cost < decision.cost) return ask.limiter.refund(decision, decision.cost - cost);
  if (cost > decision.cost) return chargeMore(ask, decision, cost);
  return undefined;
}

/**
 * How long a charge can be settled by its id. The store remembers that it was for as long, so only the
 * longer responses get the longer time.
 */
const HOLDS_MS = [300_000, 86_400_000];

/** By the limits that decided; a look charged nothing that could be settled. */
async function chargeMore({ limiter, plan }: Ask, decision: Decision, cost: number): Promise<void> {
  for (const holdMs of decision.cost > 0 ? HOLDS_MS : []) {
    const { reason } = await limiter.settle({ ...decision, holdMs, onExpiry: 'keep' }, cost);
    if (reason !== 'expired') return;
  }
  await limiter.charge(decision.subject, cost - decision.cost, plan === undefined ? {} : { plan });
}

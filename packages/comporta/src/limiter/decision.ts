import type { Decision, DenialReason, LimitState } from '../core/decision.js';
import { PROCESS_ID } from '../core/process-id.js';
import type { Plan, StoreReply } from '../stores/store.js';

/** With {@link PROCESS_ID}, makes ids unique over processes at the cost of one addition per decision. */
let count = 0;

/** First character of the ids of looks: no other id begins so. */
const LOOK = '.';

/** Whether a decision charged nothing, whatever its cost, because it was only a look. */
export function isLook({ id }: Decision): boolean {
  return id.startsWith(LOOK);
}

/** Words a store's numbers as a decision. */
export function toDecision(
  plan: Plan,
  reply: StoreReply,
  operation: 'consume' | 'peek',
  subject: string,
  cost: number,
): Decision {
  const { numbers, degraded, atUs } = reply;
  const limits: LimitState[] = [];
  let binding: LimitState | undefined;
  for (let i = 0; numbers.length > i * 4; i++) {
    const state = stateOf(plan, numbers, i);
    limits.push(state);
    if (binding === undefined || bindsMore(state, binding)) binding = state;
  }
  const allowed = binding === undefined ? degraded?.mode === 'open' : binding.retryAfterMs === 0;
  return {
    allowed,
    reason: allowed ? undefined : reasonOf(binding),
    policy: plan.policy,
    subject,
    cost,
    id: `${operation === 'peek' ? LOOK : ''}${PROCESS_ID}${(count++).toString(36)}`,
    atUs,
    limits,
    binding,
    retryAfterMs: allowed ? 0 : binding === undefined ? null : binding.retryAfterMs,
    degraded,
  };
}

function stateOf(plan: Plan, numbers: readonly number[], i: number): LimitState {
  const { id, limit, windowMs } = plan.limits[i] as Plan['limits'][number];
  const retryAfterMs = numbers[i * 4 + 1] as number;
  return {
    id,
    limit,
    windowMs,
    remaining: numbers[i * 4] as number,
    retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs,
    resetAfterMs: numbers[i * 4 + 2] as number,
    nextAfterMs: numbers[i * 4 + 3] as number,
  };
}

/** The longer wait binds; among limits that admit, the one with less left. */
function bindsMore(a: LimitState, b: LimitState): boolean {
  const [waitA, waitB] = [a.retryAfterMs ?? Number.POSITIVE_INFINITY, b.retryAfterMs ?? Number.POSITIVE_INFINITY];
  return waitA !== waitB ? waitA > waitB : a.remaining < b.remaining;
}

function reasonOf(binding: LimitState | undefined): DenialReason {
  if (binding === undefined) return 'store-unavailable';
  return binding.retryAfterMs === null ? 'cost-exceeds-limit' : 'limit-exceeded';
}

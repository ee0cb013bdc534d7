import type { Decision, DegradedCause, FailureMode } from '../core/decision.js';
import type { DecisionEvent } from '../core/events.js';
import type { Limiter } from '../limiter/limiter.js';

/** What became of a request, as far as this decision goes. */
export type DecisionOutcome = 'allowed' | 'denied' | 'error';

const SOURCES: Readonly<Record<FailureMode, string>> = { local: 'local', open: 'failopen', closed: 'failclosed' };

/** A refusal in shadow mode lets the request pass. */
export function outcomeOf({ decision, shadow }: DecisionEvent): DecisionOutcome {
  if (decision.allowed || shadow) return 'allowed';
  return decision.reason === 'store-unavailable' ? 'error' : 'denied';
}

/** Who decided: the store by its kind, or what stood in for it. */
export function sourceOf({ decision, store }: DecisionEvent): string {
  if (decision.degraded !== undefined) return SOURCES[decision.degraded.mode];
  return decision.reason === 'too-many-waiting' ? 'local' : store;
}

/** Causes that only a call to the store can find. */
const ANSWERS: readonly DegradedCause[] = ['timeout', 'unavailable', 'misconfigured'];

/** Whether the store was asked, and was left its time to answer. */
export function askedStore({ decision: { degraded, reason } }: DecisionEvent): boolean {
  return degraded === undefined ? reason !== 'too-many-waiting' : ANSWERS.includes(degraded.cause);
}

/** Used part of the limit with least room: 0 to 1; `undefined` where nobody counted or the limit is 0. */
export function utilizationOf({ binding }: Decision): number | undefined {
  if (binding === undefined || binding.limit === 0) return undefined;
  return Math.min(1, Math.max(0, 1 - binding.remaining / binding.limit));
}

/** Names the algorithm of the limit that a decision names: `other` for limits of plans, `none` where nobody counted. */
export function algorithmNamer({ limits }: Limiter): (decision: Decision) => string {
  const names = new Map(limits.map(({ id, algorithm }) => [id, algorithm.name]));
  return ({ binding }) => (binding === undefined ? 'none' : (names.get(binding.id) ?? 'other'));
}

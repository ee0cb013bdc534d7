import type { BreakerState, Failing } from '../admin/nodes.js';

/** What processes have seen of the store's nodes. */
export interface NodesSeen {
  readonly breakers: readonly BreakerState[];
  readonly failing: readonly Failing[];
}

/** From good to bad. */
const STATES: readonly BreakerState['state'][] = ['closed', 'halfOpen', 'open'];

/** Of each breaker the worst state that any process sees, since the first of them sees it; every failure once. */
export function mergeNodes(parts: readonly NodesSeen[]): NodesSeen {
  const breakers = new Map<string, BreakerState>();
  for (const breaker of parts.flatMap((part) => part.breakers)) {
    const key = JSON.stringify([breaker.node, breaker.timeoutMs]);
    const known = breakers.get(key);
    if (known === undefined || isWorse(breaker, known)) breakers.set(key, breaker);
  }
  const failing = new Map<string, Failing>();
  for (const failure of parts.flatMap((part) => part.failing)) {
    const key = JSON.stringify([failure.policy, failure.node]);
    const known = failing.get(key);
    if (known === undefined || failure.sinceMs < known.sinceMs) failing.set(key, failure);
  }
  const sorted = [...breakers.values()].sort((a, b) => (a.node < b.node ? -1 : 1));
  return { breakers: sorted, failing: [...failing.values()] };
}

function isWorse(one: BreakerState, other: BreakerState): boolean {
  const by = STATES.indexOf(one.state) - STATES.indexOf(other.state);
  return by > 0 || (by === 0 && one.sinceMs < other.sinceMs);
}

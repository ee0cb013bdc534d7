import type { BreakerEvent, StoreFailure } from 'comporta';
import { nowMs } from '../time.js';

/** What one node's breaker last said. */
export interface BreakerState extends BreakerEvent {
  readonly sinceMs: number;
}

/** A policy that a node does not answer. */
export interface Failing {
  readonly policy: string;
  readonly node: string;
  readonly mode: string;
  readonly cause: string;
  readonly sinceMs: number;
}

/** More are not kept: nodes come and go, and every policy may miss each of them. */
const KEPT_MAX = 1000;

/** What the limiters tell of the store's nodes. */
export class Nodes {
  readonly #breakers: Map<string, BreakerState> = new Map();
  readonly #failing: Map<string, Failing> = new Map();

  /** Every limiter of a store tells the same change: the first telling counts. */
  changed(event: BreakerEvent): void {
    const name = JSON.stringify([event.node, event.timeoutMs]);
    if (this.#breakers.get(name)?.state === event.state) return;
    keep(this.#breakers, name, { ...event, sinceMs: nowMs() });
  }

  lost({ policy, node, degraded: { mode, cause } }: StoreFailure): void {
    keep(this.#failing, JSON.stringify([policy, node]), { policy, node, mode, cause, sinceMs: nowMs() });
  }

  found({ policy, node }: { readonly policy: string; readonly node: string }): void {
    this.#failing.delete(JSON.stringify([policy, node]));
  }

  /** Nobody decides by a policy any more. */
  forget(policy: string): void {
    for (const [name, failing] of this.#failing) if (failing.policy === policy) this.#failing.delete(name);
  }

  get breakers(): readonly BreakerState[] {
    return [...this.#breakers.values()].sort((a, b) => (a.node < b.node ? -1 : 1));
  }

  get failing(): readonly Failing[] {
    return [...this.#failing.values()];
  }
}

/** The oldest makes room. */
function keep<T>(map: Map<string, T>, name: string, value: T): void {
  map.delete(name);
  if (map.size >= KEPT_MAX) map.delete(map.keys().next().value as string);
  map.set(name, value);
}

import type { Degraded } from './decision.js';

/** What a limiter tells its listeners; each name maps to its payload. */
export interface LimiterEvents {
  /** The store stopped answering for this policy: the first degraded decision after good ones. */
  degraded: { readonly policy: string; readonly degraded: Degraded };
  /** The store answers again for this policy. */
  recovered: { readonly policy: string };
  /** One call to the store failed; sent for every failure, not for calls that were not made. */
  storeError: { readonly policy: string; readonly degraded: Degraded };
  /** The breaker of one Redis node changed; every limiter of the store tells it. */
  breaker: BreakerEvent;
}

/** A node's breaker opened, closed again, or lets one call through to find out. */
export interface BreakerEvent {
  /** `host:port` of a node of a cluster; `redis` for a single server. */
  readonly node: string;
  readonly state: 'closed' | 'open' | 'halfOpen';
}

export type Listener<T> = (event: T) => void;

/** A minimal typed emitter; emitting with no listener costs one map look-up. */
export class Emitter<Events> {
  readonly #listeners: Map<keyof Events, Set<Listener<never>>> = new Map();

  /** Adds a listener and returns the function that removes it. */
  on<K extends keyof Events>(name: K, listener: Listener<Events[K]>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set<Listener<never>>();
    this.#listeners.set(name, listeners.add(listener as Listener<never>));
    return () => void listeners.delete(listener as Listener<never>);
  }

  /** Whether anybody listens. */
  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  /** A listener that throws is ignored: it must never change a decision. */
  emit<K extends keyof Events>(name: K, event: Events[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        (listener as Listener<Events[K]>)(event);
      } catch {
        // The listener's fault is its own; the decision goes on.
      }
    }
  }
}

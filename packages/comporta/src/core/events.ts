import type { Decision, Degraded } from './decision.js';
import { unawaited } from './unawaited.js';

/** What a limiter tells its listeners; each name maps to its payload. */
export interface LimiterEvents {
  /** A node of the store stopped answering for this policy: its first degraded decision after good ones. */
  degraded: StoreFailure;
  /** The node answers again for this policy, or another that took over from it. */
  recovered: { readonly policy: string; readonly node: string };
  /** One call to the store failed; sent for every failure, not for calls that were not made. */
  storeError: StoreFailure;
  /** The store answers with a complaint that only a person can mend; once a minute for each distinct one. */
  config: StoreFailure;
  /** A request was refused; at most ten a second are told. */
  denied: DeniedEvent;
  /** A decision was made, looks left out: for metrics. Listeners run within each decision, so keep them short. */
  decision: DecisionEvent;
  /** Units that were fetched ahead are used up, or their time is over. */
  lease: LeaseEvent;
  /** A breaker of one Redis node changed; every limiter of the store tells it. */
  breaker: BreakerEvent;
}

/** Why the store did not decide. */
export interface StoreFailure {
  readonly policy: string;
  /** `host:port` of a node of a cluster; `redis` for a single server. */
  readonly node: string;
  readonly degraded: Degraded;
}

/** A refusal, for logs and samples; counts belong to metrics. */
export interface DeniedEvent {
  readonly policy: string;
  readonly decision: Decision;
  /** It was only reported: the request passed. */
  readonly shadow: boolean;
  /** Refusals of this limiter that were not told since the last that was. */
  readonly leftOut: number;
}

/** A decision, for counts and times. */
export interface DecisionEvent {
  readonly policy: string;
  readonly decision: Decision;
  /** The caller does not enforce it. */
  readonly shadow: boolean;
  /** Where the policy's counts live when all is well: `memory` or `redis`. */
  readonly store: string;
  /** How long it took, in ms with fractions; `undefined` for a call of `wait`, which took as long as its turn did. */
  readonly durationMs: number | undefined;
}

/** Units that this process fetched ahead for a subject, at the end of their time. */
export interface LeaseEvent {
  readonly policy: string;
  readonly units: number;
  /** What nobody asked for, and is given back. */
  readonly unused: number;
}

/** A node's breaker opened, closed again, or lets one call through to find out. */
export interface BreakerEvent {
  readonly node: string;
  readonly state: 'closed' | 'open' | 'halfOpen';
  /** The breaker is for policies with this time limit: a node may be too slow for one and do for another. */
  readonly timeoutMs: number;
}

export type Listener<T> = (event: T) => void;

/** A minimal typed emitter; emitting with no listener costs one map look-up. */
export class Emitter<Events> {
  readonly #listeners: Map<keyof Events, Set<Listener<never>>> = new Map();
  #isSilent = true;

  /** Adds a listener and returns the function that removes it. */
  on<K extends keyof Events>(name: K, listener: Listener<Events[K]>): () => void {
    this.#isSilent = false;
    const listeners = this.#listeners.get(name) ?? new Set<Listener<never>>();
    this.#listeners.set(name, listeners.add(listener as Listener<never>));
    return () => void listeners.delete(listener as Listener<never>);
  }

  /** Whether nobody ever listened to anything: costs less than {@link Emitter.has}. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Whether anybody listens. */
  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  /** A listener that throws is ignored: it must never change a decision. */
  emit<K extends keyof Events>(name: K, event: Events[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        unawaited((listener as Listener<Events[K]>)(event));
      } catch {
        // The listener's fault is its own; the decision goes on.
      }
    }
  }
}

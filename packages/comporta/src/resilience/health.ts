import { type BreakerEvent, Emitter } from '../core/events.js';
import type { Clock } from '../core/time.js';
import type { Store } from '../stores/store.js';
import { BREAKER_DEFAULTS, type BreakerSettings, type BreakerState } from './breaker.js';
import { type Failure, NodeBreakers } from './node-breakers.js';
import { Notices } from './notices.js';

/** Why a call may not go to its node. */
export type Refusal = 'breaker-open' | 'overloaded';

/** Calls that a node may owe an answer to. More would only queue behind it. */
const IN_FLIGHT_MAX = 5000;

/**
 * A call that owes an answer for longer than this, up to twice as long, counts no more: some clients never tell what
 * became of calls whose connection was lost.
 */
const OWING_MS = 30_000;

/** Calls of one time that are not answered. */
export interface Places {
  taken: number;
}

/** Nodes that one process keeps in mind: more than this belong to no cluster, but old addresses add up. */
const NODES_MAX = 4096;

/** What this process knows of one node: its breakers, and how many calls it owes an answer to. */
export class NodeHealth {
  readonly notices: Notices;
  readonly #breakers: NodeBreakers;
  #places: Places = { taken: 0 };
  #before: Places = { taken: 0 };
  #sinceMs = 0;

  constructor(breakers: NodeBreakers, notices: Notices) {
    this.#breakers = breakers;
    this.notices = notices;
  }

  /** State of the breaker for policies with this time limit. */
  state(limitMs: number): BreakerState['kind'] {
    return this.#breakers.state(limitMs);
  }

  /** Takes a place for a call, who counts it off what is returned when the node has answered. */
  enter(limitMs: number, nowMs: number, probeMs: number): Refusal | Places {
    const agoMs = Math.abs(nowMs - this.#sinceMs);
    if (agoMs >= OWING_MS) {
      this.#before = agoMs < 2 * OWING_MS ? this.#places : { taken: 0 };
      this.#places = { taken: 0 };
      this.#sinceMs = nowMs;
    }
    if (this.#places.taken + this.#before.taken >= IN_FLIGHT_MAX) return 'overloaded';
    if (this.#breakers.admit(limitMs, nowMs, probeMs) === 'refused') return 'breaker-open';
    this.#places.taken++;
    return this.#places;
  }

  succeeded(limitMs: number, nowMs: number, sentAtMs: number): void {
    this.#breakers.success(limitMs, nowMs, sentAtMs);
  }

  failed(limitMs: number, nowMs: number, failure: Failure): void {
    this.#breakers.failure(limitMs, nowMs, failure);
  }
}

/** The nodes of one store, shared by all its limiters in a process: one of them finding a node dead is enough. */
export class StoreHealth {
  readonly events: Emitter<{ breaker: BreakerEvent }> = new Emitter();
  readonly #nodes: Map<string, NodeHealth> = new Map();
  readonly #make: (node: string) => NodeHealth;

  constructor(settings: BreakerSettings, clock: Clock, say: (message: string) => void) {
    this.#make = (node) => {
      const breakers = new NodeBreakers(settings, (state, timeoutMs) =>
        this.events.emit('breaker', { node, state, timeoutMs }),
      );
      return new NodeHealth(breakers, new Notices(node, clock, say));
    };
  }

  node(name: string): NodeHealth {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    if (this.#nodes.size >= NODES_MAX) this.#nodes.clear();
    const made = this.#make(name);
    this.#nodes.set(name, made);
    return made;
  }
}

const known: WeakMap<Store, StoreHealth> = new WeakMap();

/** The health of a store, made on first use and dropped with the store. */
export function healthOf(store: Store, clock: Clock, settings: BreakerSettings = BREAKER_DEFAULTS): StoreHealth {
  const health = known.get(store) ?? new StoreHealth(settings, clock, (message) => store.warn?.(message));
  known.set(store, health);
  return health;
}

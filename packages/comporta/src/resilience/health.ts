import { type BreakerEvent, Emitter } from '../core/events.js';
import type { Clock } from '../core/time.js';
import type { Store } from '../stores/store.js';
import { BREAKER_DEFAULTS, Breaker, type BreakerSettings, type BreakerState } from './breaker.js';
import { Notices } from './notices.js';

/** Why a call may not go to its node. */
export type Refusal = 'breaker-open' | 'overloaded';

/** Calls that a node may owe an answer to. More would only queue behind it. */
const IN_FLIGHT_MAX = 5000;

/** Breakers that one process keeps: more nodes than this belong to no cluster, but old addresses add up. */
const NODES_MAX = 4096;

/** What this process knows of one node: its breaker, and how many calls it owes an answer to. */
export class NodeHealth {
  readonly #breaker: Breaker;
  readonly #report: (state: BreakerState['kind']) => void;
  #inFlight = 0;

  constructor(settings: BreakerSettings, report: (state: BreakerState['kind']) => void) {
    this.#breaker = new Breaker(settings);
    this.#report = report;
  }

  get state(): BreakerState['kind'] {
    return this.#breaker.state.kind;
  }

  /** Takes a place for a call; {@link NodeHealth.leave} gives it back when the node has answered. */
  enter(nowMs: number, probeMs: number): Refusal | undefined {
    if (this.#inFlight >= IN_FLIGHT_MAX) return 'overloaded';
    const admission = this.#breaker.admit(nowMs, probeMs);
    if (admission === 'refused') return 'breaker-open';
    if (admission === 'probe') this.#report('halfOpen');
    this.#inFlight++;
    return undefined;
  }

  leave(): void {
    this.#inFlight--;
  }

  succeeded(nowMs: number): void {
    this.#changing(() => this.#breaker.success(nowMs));
  }

  failed(nowMs: number, chance: number, sentAtMs: number): void {
    this.#changing(() => this.#breaker.failure(nowMs, chance, sentAtMs));
  }

  #changing(change: () => void): void {
    const before = this.state;
    change();
    if (this.state !== before) this.#report(this.state);
  }
}

/** The nodes of one store, shared by all its limiters in a process: one of them finding a node dead is enough. */
export class StoreHealth {
  readonly events: Emitter<{ breaker: BreakerEvent }> = new Emitter();
  readonly notices: Notices;
  readonly #nodes: Map<string, NodeHealth> = new Map();
  readonly #settings: BreakerSettings;

  constructor(settings: BreakerSettings, notices: Notices) {
    this.#settings = settings;
    this.notices = notices;
  }

  node(name: string): NodeHealth {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    if (this.#nodes.size >= NODES_MAX) this.#nodes.clear();
    const made = new NodeHealth(this.#settings, (state) => this.events.emit('breaker', { node: name, state }));
    this.#nodes.set(name, made);
    return made;
  }
}

const known: WeakMap<Store, StoreHealth> = new WeakMap();

/** The health of a store, made on first use and dropped with the store. */
export function healthOf(store: Store, clock: Clock, settings: BreakerSettings = BREAKER_DEFAULTS): StoreHealth {
  const notices = () => new Notices(clock, (message) => store.warn?.(message));
  const health = known.get(store) ?? new StoreHealth(settings, notices());
  known.set(store, health);
  return health;
}

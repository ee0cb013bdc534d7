import { type Admission, Breaker, type BreakerSettings, type BreakerState } from './breaker.js';

/** Time limits that have a breaker of their own on a node; a further one shares that of the nearest. */
const LIMITS_MAX = 16;

interface Entry {
  readonly limitMs: number;
  readonly breaker: Breaker;
  /** Its last failure was not one of time: the node could not be reached, or said that it cannot serve. */
  isRefused: boolean;
}

/** A failure of a node, as a call saw it. */
export interface Failure {
  /** The node may be well for whoever waits longer. */
  readonly isTimeout: boolean;
  readonly sentAtMs: number;
  /** From 0 to 1; spreads processes. */
  readonly chance: number;
  /** Another who waited for the same call told of it before. */
  readonly isKnown?: boolean;
}

/**
 * The breakers of one node, one per time limit: a node that is too slow for 50 ms may serve 2 s well.
 * What says something about every time limit is told to all: a refusal, and the end of one; an answer
 * within a shorter limit. Pure but for its own state, as {@link Breaker} is.
 */
export class NodeBreakers {
  readonly #settings: BreakerSettings;
  readonly #onChange: (state: BreakerState['kind'], limitMs: number) => void;
  readonly #entries: Entry[] = [];

  constructor(settings: BreakerSettings, onChange: (state: BreakerState['kind'], limitMs: number) => void) {
    this.#settings = settings;
    this.#onChange = onChange;
  }

  state(limitMs: number): BreakerState['kind'] {
    return this.#entryFor(limitMs).breaker.state.kind;
  }

  /** Whether a call of a policy with this time limit may go now; a probe frees its place after `probeMs`. */
  admit(limitMs: number, nowMs: number, probeMs: number): Admission {
    const entry = this.#entryFor(limitMs);
    const admission = entry.breaker.admit(nowMs, probeMs);
    if (admission === 'probe') this.#onChange('halfOpen', entry.limitMs);
    return admission;
  }

  success(limitMs: number, nowMs: number, sentAtMs: number): void {
    const own = this.#entryFor(limitMs);
    for (const entry of this.#entries) {
      if (entry.limitMs < own.limitMs && !entry.isRefused) continue;
      this.#changing(entry, ({ breaker }) => breaker.success(nowMs, sentAtMs));
    }
  }

  failure(limitMs: number, nowMs: number, { isTimeout, sentAtMs, chance, isKnown }: Failure): void {
    const entries = isTimeout ? [this.#entryFor(limitMs)] : this.#entries;
    for (const entry of entries) {
      entry.isRefused = !isTimeout;
      this.#changing(entry, ({ breaker }) => breaker.failure(nowMs, chance, sentAtMs, isKnown));
    }
  }

  #entryFor(limitMs: number): Entry {
    // A handful at most: policies rarely differ in their time limits.
    for (const entry of this.#entries) if (entry.limitMs === limitMs) return entry;
    if (this.#entries.length >= LIMITS_MAX) return nearest(this.#entries, limitMs);
    const made: Entry = { limitMs, breaker: new Breaker(this.#settings), isRefused: false };
    this.#entries.push(made);
    return made;
  }

  #changing(entry: Entry, change: (entry: Entry) => void): void {
    const before = entry.breaker.state.kind;
    change(entry);
    const after = entry.breaker.state.kind;
    if (after !== before) this.#onChange(after, entry.limitMs);
  }
}

function nearest(entries: readonly Entry[], limitMs: number): Entry {
  const distance = (entry: Entry): number => Math.abs(entry.limitMs - limitMs);
  return entries.reduce((best, entry) => (distance(entry) < distance(best) ? entry : best));
}

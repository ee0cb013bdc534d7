import type { Part } from '../algorithms/algorithm.js';
import type { Clock } from '../core/time.js';
import { TTL_MS } from './presence.js';

/** Policies, and processes of each, that are kept in mind; the oldest give way. */
const POLICIES_MAX = 10_000;
const PROCESSES_MAX = 10_000;

/** Which processes use the policies of a store in memory: those that reach it through the one that holds it. */
export class MemoryPresence {
  readonly #clock: Clock;
  /** By policy: when each process was last heard of, in ms, the latest last. */
  readonly #seen: Map<string, Map<string, number>> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  beat(who: string, policies: readonly string[]): readonly Part[] {
    const nowMs = this.#clock.nowUs() / 1000;
    return policies.map((policy) => this.#part(policy, who, nowMs));
  }

  #part(policy: string, who: string, nowMs: number): Part {
    const seen = this.#seen.get(policy) ?? new Map<string, number>();
    this.#seen.delete(policy);
    if (this.#seen.size >= POLICIES_MAX) this.#seen.delete(this.#seen.keys().next().value as string);
    this.#seen.set(policy, seen);
    seen.delete(who);
    for (const [other, atMs] of seen) {
      if (Math.abs(nowMs - atMs) < TTL_MS && seen.size < PROCESSES_MAX) break;
      seen.delete(other);
    }
    seen.set(who, nowMs);
    const rank = [...seen.keys()].filter((other) => other < who).length;
    return { processes: seen.size, rank };
  }
}

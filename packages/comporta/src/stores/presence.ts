import type { Part } from '../algorithms/algorithm.js';
import { StoreError } from '../core/waiting.js';

/** One process, as long as nothing is known of others. */
export const ALONE: Part = { processes: 1, rank: 0 };

/** A process says this often that it is alive, while it has traffic ... */
const EVERY_MS = 2000;
/** ... and counts for so long after it last did. */
export const TTL_MS = 10_000;
/** Policies named in one call: a script must not hold the server up. */
const POLICIES_MAX = 100;

/** All keys lie in one slot, whatever the policies. */
export const PRESENCE_TAG = '%presence';

/** How many processes use one policy, as far as known. */
export class PolicyPresence {
  readonly policy: string;
  part: Part = ALONE;
  /** Since it was last told of. */
  isUsed: boolean = false;
  saidAtMs: number = Number.NEGATIVE_INFINITY;
  readonly #say: (nowMs: number) => void;

  constructor(policy: string, say: (nowMs: number) => void) {
    this.policy = policy;
    this.#say = say;
  }

  /** Call after an answer of the store, with its time. */
  touch(nowMs: number): void {
    this.isUsed = true;
    if (Math.abs(nowMs - this.saidAtMs) >= EVERY_MS) this.#say(nowMs);
  }
}

/** Of a policy that this process does not use itself. */
export const uncounted = (policy: string): PolicyPresence => new PolicyPresence(policy, () => undefined);

/**
 * How many processes use each policy of a store, for shares of its limits while it is away: then the last
 * count holds. Beats with traffic and has no timer, so it keeps no process alive, suits functions that
 * freeze between requests, and a process that nobody asks takes no part of a limit.
 */
export class Presence {
  readonly #beat: (policies: readonly string[]) => Promise<readonly Part[]>;
  readonly #warn: (message: string) => void;
  readonly #known: Map<string, PolicyPresence> = new Map();
  #isWarned = false;

  constructor(beat: (policies: readonly string[]) => Promise<readonly Part[]>, warn: (message: string) => void) {
    this.#beat = beat;
    this.#warn = warn;
  }

  of(policy: string): PolicyPresence {
    const known = this.#known.get(policy) ?? new PolicyPresence(policy, (nowMs) => this.#say(nowMs));
    this.#known.set(policy, known);
    return known;
  }

  /** Tells of all that was used lately, so that many policies share one call. */
  #say(nowMs: number): void {
    const used = [...this.#known.values()].filter(({ isUsed }) => isUsed);
    for (const each of used) {
      each.isUsed = false;
      each.saidAtMs = nowMs;
    }
    for (let i = 0; i < used.length; i += POLICIES_MAX) this.#sayOf(used.slice(i, i + POLICIES_MAX));
  }

  #sayOf(used: readonly PolicyPresence[]): void {
    this.#beat(used.map(({ policy }) => policy)).then(
      (parts) => {
        this.#isWarned = false;
        used.forEach((each, i) => {
          each.part = parts[i] ?? ALONE;
        });
      },
      // The count is of no use while the store answers; the next beat will do, unless a person must mend it.
      (error: unknown) => {
        if (this.#isWarned || !(error instanceof StoreError && error.kind === 'misconfigured')) return;
        this.#isWarned = true;
        this.#warn(`processes cannot be counted, so mode local goes by the last known number: ${error.message}`);
      },
    );
  }
}

import type { Part } from '../algorithms/algorithm.js';
import { StoreError } from '../core/waiting.js';

/** One process, as long as nothing is known of others. */
export const ALONE: Part = { processes: 1, rank: 0 };

/** A process says this often that it is alive, while it has traffic ... */
const EVERY_MS = 2000;
/** ... and counts for so long after it last did. */
export const TTL_MS = 10_000;
/** What was told of others is sure for so long: no more than one beat may fail meanwhile. */
const SURE_MS = 2 * EVERY_MS;
/** Counted for so long without a gap all others have heard of it, and what they did before is over. */
const KNOWN_MS = SURE_MS + 2000;
/** Policies named in one call: a script must not hold the server up. */
const POLICIES_MAX = 100;

/** All keys lie in one slot, whatever the policies. */
export const PRESENCE_TAG = '%presence';

/** How many processes use one policy, as far as known. */
export class PolicyPresence {
  readonly policy: string;
  part: Part;
  /** Since it was last told of. */
  isUsed: boolean = false;
  saidAtMs: number = Number.NEGATIVE_INFINITY;
  /** As `peers` of a store. */
  peers: number | undefined;
  /** When it said what was last answered. */
  #toldAtMs = Number.NEGATIVE_INFINITY;
  /** Since when it is counted without a gap, as far as known; `undefined` until the first answer after its beat. */
  #sinceMs: number | undefined;
  /** The most that were told of lately: a count that was lost begins anew at one, while the others go by theirs. */
  #most = 1;
  #mostAtMs = Number.NEGATIVE_INFINITY;
  readonly #least: Part;
  readonly #say: (nowMs: number) => void;

  constructor(policy: string, least: Part, say: (nowMs: number) => void) {
    this.policy = policy;
    this.part = least;
    this.#least = least;
    this.#say = say;
  }

  /** Call after an answer of the store, with its time. */
  touch(nowMs: number): void {
    this.isUsed = true;
    if (Math.abs(nowMs - this.saidAtMs) >= EVERY_MS) this.#say(nowMs);
    if (this.#toldAtMs === Number.NEGATIVE_INFINITY) return;
    this.#sinceMs ??= nowMs;
    const isSure = Math.abs(nowMs - this.#toldAtMs) <= SURE_MS && nowMs - this.#sinceMs >= KNOWN_MS;
    this.peers = isSure ? this.#most : undefined;
  }

  /** What was said then was answered. */
  told(part: Part, saidAtMs: number): void {
    // Those that are known but not counted had no traffic of late; they may have it next.
    this.part = part.processes < this.#least.processes ? this.#least : part;
    if (Math.abs(saidAtMs - this.#toldAtMs) > SURE_MS) this.#sinceMs = undefined;
    this.#toldAtMs = saidAtMs;
    if (this.part.processes < this.#most && Math.abs(saidAtMs - this.#mostAtMs) < TTL_MS) return;
    this.#most = this.part.processes;
    this.#mostAtMs = saidAtMs;
  }
}

/** Of a policy that this process does not use itself. */
export const uncounted = (policy: string): PolicyPresence => new PolicyPresence(policy, ALONE, () => undefined);

/**
 * How many processes use each policy of a store, for shares of its limits while it is away: then the last
 * count holds. Beats with traffic and has no timer, so it keeps no process alive, suits functions that
 * freeze between requests, and a process that nobody asks takes no part of a limit.
 */
export class Presence {
  readonly #beat: (policies: readonly string[]) => Promise<readonly Part[]>;
  readonly #warn: (message: string) => void;
  /** This process among those that are there for sure. */
  readonly #least: Part;
  readonly #known: Map<string, PolicyPresence> = new Map();
  #isWarned = false;

  constructor(
    beat: (policies: readonly string[]) => Promise<readonly Part[]>,
    warn: (message: string) => void,
    least: Part = ALONE,
  ) {
    this.#beat = beat;
    this.#warn = warn;
    this.#least = least;
  }

  of(policy: string): PolicyPresence {
    const known = this.#known.get(policy) ?? new PolicyPresence(policy, this.#least, (nowMs) => this.#say(nowMs));
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
    for (let i = 0; i < used.length; i += POLICIES_MAX) this.#sayOf(used.slice(i, i + POLICIES_MAX), nowMs);
  }

  #sayOf(used: readonly PolicyPresence[], nowMs: number): void {
    this.#beat(used.map(({ policy }) => policy)).then(
      (parts) => {
        this.#isWarned = false;
        used.forEach((each, i) => {
          each.told(parts[i] ?? ALONE, nowMs);
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

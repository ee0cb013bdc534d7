import type { Decision } from '../core/decision.js';

/** Keys whose hits are remembered, charges and refusals of one key, and charges of all. */
const KEYS_MAX = 10_000;
const OF_KEY_MAX = 10_000;
const ALL_CHARGES_MAX = 100_000;

interface Charge {
  readonly decision: Decision;
  /** Until then it counts. */
  readonly untilMs: number;
}

interface Page {
  /** Oldest first. */
  readonly charges: Charge[];
  /** Until when the decrement of each refusal may come. */
  readonly refusals: number[];
}

/**
 * Knows what a decrement gives back. The contracts name only the key: so it is the oldest charge of the key that
 * still counts. Of the others none then leaves a window sooner than it should, and never do more pass than the limit.
 */
export class Ledger {
  readonly #pages: Map<string, Page> = new Map();
  readonly #areRefusalsGivenBack: boolean;
  #charges = 0;

  /** `areRefusalsGivenBack`: decrements come for refused hits as well, which cost nothing. */
  constructor(areRefusalsGivenBack: boolean) {
    this.#areRefusalsGivenBack = areRefusalsGivenBack;
  }

  charged(key: string, decision: Decision, untilMs: number, nowMs: number): void {
    const { charges } = this.#page(key);
    this.#dropEnded(charges, nowMs);
    charges.push({ decision, untilMs });
    this.#charges++;
    if (charges.length > OF_KEY_MAX && charges.shift() !== undefined) this.#charges--;
    while (this.#charges > ALL_CHARGES_MAX) this.#forgetOldest();
  }

  /** The decrement of a refusal may come until `untilMs`. */
  refused(key: string, untilMs: number): void {
    if (!this.#areRefusalsGivenBack) return;
    const { refusals } = this.#page(key);
    refusals.push(untilMs);
    if (refusals.length > OF_KEY_MAX) refusals.shift();
  }

  /** The charge that a decrement gives back. Those of refusals come first, so that never more than was charged does. */
  takeBack(key: string, nowMs: number): Decision | undefined {
    const page = this.#pages.get(key);
    if (page === undefined) return undefined;
    const { charges, refusals } = page;
    // A decrement may be a moment under way.
    while (refusals[0] !== undefined && refusals[0] < nowMs) refusals.shift();
    if (refusals.shift() !== undefined) return undefined;
    this.#dropEnded(charges, nowMs);
    const oldest = charges.shift();
    if (oldest !== undefined) this.#charges--;
    return oldest?.decision;
  }

  forget(key: string): void {
    this.#charges -= this.#pages.get(key)?.charges.length ?? 0;
    this.#pages.delete(key);
  }

  forgetAll(): void {
    this.#charges = 0;
    this.#pages.clear();
  }

  #dropEnded(charges: Charge[], nowMs: number): void {
    const ended = charges.findIndex(({ untilMs }) => untilMs > nowMs);
    this.#charges -= charges.splice(0, ended < 0 ? charges.length : ended).length;
  }

  #forgetOldest(): void {
    const [[key] = []] = this.#pages;
    if (key !== undefined) this.forget(key);
  }

  #page(key: string): Page {
    const page = this.#pages.get(key) ?? { charges: [], refusals: [] };
    this.#pages.delete(key);
    this.#pages.set(key, page);
    if (this.#pages.size > KEYS_MAX) this.#forgetOldest();
    return page;
  }
}

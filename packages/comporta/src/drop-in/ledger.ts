import type { Decision } from '../core/decision.js';

/** Keys whose hits are remembered, charges of one key and of all: more than are under way at once. */
const KEYS_MAX = 10_000;
const CHARGES_MAX = 100;
const ALL_CHARGES_MAX = 50_000;

interface Page {
  readonly charges: Decision[];
  refusals: number;
  refusedAtMs: number;
}

/**
 * Knows what a decrement gives back. The contracts name only the key, and call for refused hits as well, which
 * cost nothing: those are taken first, so that never more is given back than was charged.
 */
export class Ledger {
  readonly #pages: Map<string, Page> = new Map();
  readonly #expectedMs: number;
  #charges = 0;

  /** `expectedMs`: how long after a refusal its decrement may still come. */
  constructor(expectedMs: number) {
    this.#expectedMs = expectedMs;
  }

  charged(key: string, decision: Decision): void {
    const { charges } = this.#page(key);
    charges.push(decision);
    this.#charges++;
    if (charges.length > CHARGES_MAX && charges.shift() !== undefined) this.#charges--;
    while (this.#charges > ALL_CHARGES_MAX) this.#forgetOldest();
  }

  refused(key: string, nowMs: number): void {
    const page = this.#page(key);
    page.refusals = this.#isExpected(page, nowMs) ? page.refusals + 1 : 1;
    page.refusedAtMs = nowMs;
  }

  /** The newest charge of a key that is not given back yet. */
  takeBack(key: string, nowMs: number): Decision | undefined {
    const page = this.#pages.get(key);
    if (page === undefined) return undefined;
    if (page.refusals > 0 && this.#isExpected(page, nowMs)) {
      page.refusals--;
      return undefined;
    }
    const charge = page.charges.pop();
    if (charge !== undefined) this.#charges--;
    return charge;
  }

  forget(key: string): void {
    this.#charges -= this.#pages.get(key)?.charges.length ?? 0;
    this.#pages.delete(key);
  }

  forgetAll(): void {
    this.#charges = 0;
    this.#pages.clear();
  }

  #forgetOldest(): void {
    const [[key] = []] = this.#pages;
    if (key !== undefined) this.forget(key);
  }

  #isExpected({ refusedAtMs }: Page, nowMs: number): boolean {
    return nowMs - refusedAtMs <= this.#expectedMs;
  }

  #page(key: string): Page {
    const page = this.#pages.get(key) ?? { charges: [], refusals: 0, refusedAtMs: Number.NEGATIVE_INFINITY };
    this.#pages.delete(key);
    this.#pages.set(key, page);
    if (this.#pages.size > KEYS_MAX) this.#forgetOldest();
    return page;
  }
}

import { type Decision, fixedWindow, type Limiter, type LimitState } from 'comporta';
import type { Limiters } from './limiters.js';
import type { Match } from './match.js';
import { type Unit, windowSeconds } from './units.js';

/** The most that a limit can be: the counter of a window refuses nothing below, it only counts. */
const UNBOUNDED = 1_000_000_000;

/** What a counter said: how much of a window is used, this request's cost included. */
export interface Count {
  readonly used: number;
  readonly resetSeconds: number;
}

/**
 * Counters as envoyproxy/ratelimit has them: one per domain, entries and unit, which counts what is refused too, and
 * which rules with different numbers share. Whether a count is too high is not the counter's affair.
 */
export class Counters {
  readonly #domain: string;
  readonly #limiters: Limiters;
  readonly #ofUnits: Map<Unit, Limiter> = new Map();

  constructor(domain: string, limiters: Limiters) {
    this.#domain = domain;
    this.#limiters = limiters;
  }

  limiter(unit: Unit): Limiter {
    const known = this.#ofUnits.get(unit);
    if (known !== undefined) return known;
    const window = windowSeconds(unit) * 1000;
    const limits = fixedWindow({ limit: UNBOUNDED, window, id: unit.toLowerCase() });
    const limiter = this.#limiters.make(this.#domain, limits);
    this.#ofUnits.set(unit, limiter);
    return limiter;
  }
}

/** Entries as envoyproxy/ratelimit joins them: different ones can be one text. */
export function joinedSubject({ counted }: Match): string {
  const [only] = counted;
  if (only !== undefined && counted.length === 1) return `${only.key}_${only.value}`;
  return counted.map(({ key, value }) => `${key}_${value}`).join('_');
}

/** What was used of a window of a counter; `undefined` when nobody counted. */
export function countOf(decision: Decision, unit: Unit): Count | undefined {
  const [state] = decision.limits;
  if (state === undefined) return undefined;
  const windowS = windowSeconds(unit);
  return { used: usedOf(state), resetSeconds: windowS - (Math.floor(decision.atUs / 1e6) % windowS) };
}

/** Where this process counts alone for its part of all processes, the use of all of them as far as it can tell. */
export function usedOf({ limit, remaining }: Pick<LimitState, 'limit' | 'remaining'>): number {
  return Math.round((limit - remaining) * (UNBOUNDED / limit));
}

import { type Decision, fixedWindow, type LimitState } from 'comporta';
import type { JudgedLimiter } from './judged.js';
import type { Limiters } from './limiters.js';
import type { Match } from './match.js';
import { type Part, partOf, WHOLE } from './part.js';
import { LIMIT_MAX, type Unit, windowSeconds } from './units.js';

/** What counts in one unit. */
export interface Counter {
  readonly judged: JudgedLimiter;
  /** What of every limit this process may use while it counts alone. */
  readonly part: () => Part;
}

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
  readonly #ofUnits: Map<Unit, Counter> = new Map();

  constructor(domain: string, limiters: Limiters) {
    this.#domain = domain;
    this.#limiters = limiters;
  }

  of(unit: Unit): Counter {
    const known = this.#ofUnits.get(unit);
    if (known !== undefined) return known;
    const window = windowSeconds(unit) * 1000;
    // It refuses nothing below, it only counts.
    const limits = fixedWindow({ limit: LIMIT_MAX, window, id: unit.toLowerCase() });
    const judged = this.#limiters.makeJudged(this.#domain, limits);
    const counter = { judged, part: this.#limiters.partOf(judged.counter) };
    this.#ofUnits.set(unit, counter);
    return counter;
  }
}

/** Entries as envoyproxy/ratelimit joins them: different ones can be one text. */
export function joinedSubject({ counted }: Match): string {
  const [only] = counted;
  if (only !== undefined && counted.length === 1) return `${only.key}_${only.value}`;
  return counted.map(({ key, value }) => `${key}_${value}`).join('_');
}

/** What was used of a window of a counter, of which `part` was there; `undefined` when nobody counted. */
export function countOf(decision: Decision, unit: Unit, part: Part): Count | undefined {
  const [state] = decision.limits;
  if (state === undefined) return undefined;
  const windowS = windowSeconds(unit);
  const used = usedOf(state, part, decision.cost);
  return { used, resetSeconds: windowS - (Math.floor(decision.atUs / 1e6) % windowS) };
}

export const usedOf = (
  { limit, remaining }: Pick<LimitState, 'limit' | 'remaining'>,
  part: Part = WHOLE,
  cost: number = 0,
): number => Math.max(0, partOf(limit, part, cost) - remaining);

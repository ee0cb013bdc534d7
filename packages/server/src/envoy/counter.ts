import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  type LimiterOptions,
  type LimitState,
} from 'comporta';
import type { Match } from './match.js';
import { nameOf } from './names.js';
import { UNITS, type Unit, windowSeconds } from './units.js';

/** The most that a limit can be: the counter of a window refuses nothing below, it only counts. */
const UNBOUNDED = 1_000_000_000;

/** Settings that all limiters of a service share. */
export type LimiterSettings = Omit<LimiterOptions, 'policy' | 'limits'>;

/** What a counter said: how much of a window is used, this request's cost included. */
export interface Count {
  readonly used: number;
  readonly resetSeconds: number;
  readonly decision: Decision;
}

/**
 * Counters as envoyproxy/ratelimit has them: one per domain, entries and unit, which counts what is refused too, and
 * which rules with different numbers share. Whether a count is too high is not the counter's affair.
 */
export class Counters {
  readonly #limiters: ReadonlyMap<Unit, Limiter>;

  constructor(domain: string, options: LimiterSettings) {
    const limiterOf = (unit: Unit): Limiter =>
      createLimiter({
        ...options,
        policy: nameOf(domain),
        limits: fixedWindow({ limit: UNBOUNDED, window: windowSeconds(unit) * 1000, id: unit.toLowerCase() }),
      });
    this.#limiters = new Map(UNITS.map((unit) => [unit, limiterOf(unit)]));
  }

  get limiters(): readonly Limiter[] {
    return [...this.#limiters.values()];
  }

  limiter(unit: Unit): Limiter {
    return this.#limiters.get(unit) as Limiter;
  }
}

/** Entries as envoyproxy/ratelimit joins them: different ones can be one text. */
export const joinedSubject = ({ counted }: Match): string =>
  counted.map(({ key, value }) => `${key}_${value}`).join('_');

/** What was used of a window of a counter; `undefined` when nobody counted. */
export function countOf(decision: Decision, unit: Unit): Count | undefined {
  const [state] = decision.limits;
  if (state === undefined) return undefined;
  const windowS = windowSeconds(unit);
  return { used: usedOf(state), resetSeconds: windowS - (Math.floor(decision.atUs / 1e6) % windowS), decision };
}

/** Where this process counts alone for its part of all processes, the use of all of them as far as it can tell. */
export function usedOf({ limit, remaining }: Pick<LimitState, 'limit' | 'remaining'>): number {
  return Math.round((limit - remaining) * (UNBOUNDED / limit));
}

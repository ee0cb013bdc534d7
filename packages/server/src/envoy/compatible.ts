import type { Decision, MaybePromise } from 'comporta';
import { hitsOf, isUnanswered, type Status, uncounted } from './answer.js';
import { type Counter, type Counters, countOf, joinedSubject, usedOf } from './counter.js';
import { type Match, matchesOf, replacedIn } from './match.js';
import { allOf, andThen } from './maybe.js';
import { partOf, WHOLE } from './part.js';
import { callOf, type Patience, type Refunded, refunded } from './refund.js';
import { type Ask, costOf } from './request.js';
import type { Domain, NamedRate } from './rules.js';

export interface CompatibleOptions {
  /** Look first, and charge nobody when anybody is over. */
  readonly stopsWhenOver: boolean;
}

/** A descriptor that a counter is asked for. */
interface Counted {
  readonly match: Match;
  readonly rate: NamedRate;
  readonly ask: Ask;
  readonly counter: Counter;
}

/** Decides as envoyproxy/ratelimit does: every counter by itself, and what is refused counts too. */
export class CompatibleDomain {
  readonly #domain: Domain;
  readonly #counters: Counters;
  readonly #options: CompatibleOptions;

  constructor(domain: Domain, counters: Counters, options: CompatibleOptions) {
    this.#domain = domain;
    this.#counters = counters;
    this.#options = options;
  }

  decide(asks: readonly Ask[], patience: Patience): MaybePromise<readonly Status[]> {
    const matches = matchesOf(this.#domain, asks);
    const replaced = replacedIn(matches);
    const charge = (wanted: readonly Ask[]): MaybePromise<readonly Status[]> =>
      allOf(
        matches.map(
          (match, i) =>
            uncounted(match, replaced[i] === true) ?? this.#charge(match as Match, wanted[i] as Ask, patience),
        ),
      );
    if (!this.#options.stopsWhenOver) return charge(asks);
    return andThen(charge(asks.map(looking)), (looks) => {
      const isOver = ({ limit, remaining }: Status, i: number): boolean =>
        limit !== undefined && remaining < costOf(asks[i] as Ask);
      if (!looks.some(isOver)) return charge(asks);
      return looks.map((look, i) => (isOver(look, i) ? { ...look, isOver: true, remaining: 0 } : look));
    });
  }

  #charge(match: Match, ask: Ask, patience: Patience): MaybePromise<Status> {
    // Only unlimited rules have none, and those are not counted.
    const rate = match.rule.rate as NamedRate;
    const counter = this.#counters.of(rate.unit);
    const { limiter } = counter;
    const subject = joinedSubject(match);
    const given = refunded(ask, { limiter, subject }, patience);
    const decided = limiter.decide(subject, callOf(ask, patience));
    const counted = { match, rate, ask, counter };
    return andThen(decided, (decision) => andThen(given, (refund) => statusOf(counted, decision, refund)));
  }
}

const looking = (ask: Ask): Ask => ({ ...ask, cost: 0, isRefund: false });

function statusOf({ match, rate, ask, counter }: Counted, decision: Decision, refund: Refunded | undefined): Status {
  const { requestsPerUnit, unit } = rate;
  const { isShadow, isQuota } = match.rule;
  const degraded = decision.degraded ?? (refund !== undefined && 'degraded' in refund ? refund.degraded : undefined);
  // Who counts alone knows of its own part only, and admits no more than its part of the limit.
  const alone = decision.degraded === undefined ? WHOLE : counter.part();
  const count = countOf(decision, unit, alone);
  if (count === undefined) {
    return {
      isOver: false,
      limit: rate,
      remaining: requestsPerUnit,
      resetSeconds: undefined,
      degraded,
      isUnanswered: degraded !== undefined && isUnanswered(degraded, match),
      isQuota,
      hits: undefined,
    };
  }
  const cost = costOf(ask);
  const [state] = refund !== undefined && 'states' in refund ? refund.states : [];
  // The counter itself refuses only what no limit can have room for; that was not added.
  const after = state === undefined ? count.used + (decision.allowed ? 0 : cost) : usedOf(state);
  const room = state === undefined ? partOf(requestsPerUnit, alone, Math.max(1, cost)) : requestsPerUnit;
  const isOver = after > room;
  return {
    isOver: isOver && !isShadow,
    limit: rate,
    remaining: Math.max(0, room - after),
    resetSeconds: count.resetSeconds,
    retrySeconds: isOver ? count.resetSeconds : undefined,
    degraded,
    isQuota,
    hits: hitsOf(match, cost, after, room),
  };
}

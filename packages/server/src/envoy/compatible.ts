import { type Check, type Decision, decideEach, type MaybePromise } from 'comporta';
import { hitsOf, isUnanswered, type Status, uncounted } from './answer.js';
import { type Counters, countOf, joinedSubject, usedOf } from './counter.js';
import { type Match, matchOf, overrideOf, replacedIn } from './match.js';
import { allOf, andThen } from './maybe.js';
import { type Patience, type Refunded, refunded } from './refund.js';
import type { Ask } from './request.js';
import type { Domain, Rate } from './rules.js';

export interface CompatibleOptions {
  /** Look first, and charge nobody when anybody is over. */
  readonly stopsWhenOver: boolean;
}

/** A descriptor that a counter is asked for. */
interface Counted {
  readonly match: Match;
  readonly rate: Rate;
  readonly ask: Ask;
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
    const matches = asks.map(({ entries, override }) =>
      override === undefined ? matchOf(this.#domain, entries) : overrideOf(this.#domain, entries, override),
    );
    const replaced = replacedIn(matches);
    const settled = matches.map((match, i) => uncounted(match, replaced[i] === true));
    const counted: Counted[] = [];
    for (const [i, match] of matches.entries()) {
      const rate = match?.rule.rate;
      if (settled[i] === undefined && match !== undefined && rate !== undefined)
        counted.push({ match, rate, ask: asks[i] as Ask });
    }
    return andThen(this.#count(counted, patience), (statuses) => {
      let next = 0;
      return settled.map((status) => status ?? (statuses[next++] as Status));
    });
  }

  #count(counted: readonly Counted[], patience: Patience): MaybePromise<readonly Status[]> {
    if (!this.#options.stopsWhenOver) return this.#charge(counted, patience);
    return andThen(this.#charge(counted.map(looking), patience), (looks) => {
      const isAnyOver = looks.some(({ remaining, limit }, i) => limit !== undefined && remaining < costOf(counted[i]));
      if (!isAnyOver) return this.#charge(counted, patience);
      return looks.map((look, i) =>
        look.remaining < costOf(counted[i]) ? { ...look, isOver: true, remaining: 0 } : look,
      );
    });
  }

  #charge(counted: readonly Counted[], patience: Patience): MaybePromise<readonly Status[]> {
    const checks = counted.map(({ match, rate, ask }): Check => {
      const limiter = this.#counters.limiter(rate.unit);
      return { limiter, subject: joinedSubject(match), cost: ask.isRefund ? 0 : ask.cost };
    });
    const given = counted.map(({ ask }, i) => refunded(ask, checks[i] as Check, patience));
    return andThen(decideEach(checks, patience), (decisions) =>
      andThen(allOf(given), (refunds) => counted.map((one, i) => statusOf(one, decisions[i] as Decision, refunds[i]))),
    );
  }
}

const looking = (one: Counted): Counted => ({ ...one, ask: { ...one.ask, cost: 0, isRefund: false } });

const costOf = (one: Counted | undefined): number => (one?.ask.isRefund === true ? 0 : (one?.ask.cost ?? 0));

function statusOf({ match, rate, ask }: Counted, decision: Decision, refund: Refunded | undefined): Status {
  const { requestsPerUnit, unit } = rate;
  const { name, isShadow, isQuota } = match.rule;
  const limit = { requestsPerUnit, unit, name };
  const degraded = decision.degraded ?? (refund !== undefined && 'degraded' in refund ? refund.degraded : undefined);
  const count = countOf(decision, unit);
  if (count === undefined) {
    return {
      isOver: false,
      limit,
      remaining: requestsPerUnit,
      resetSeconds: undefined,
      degraded,
      isUnanswered: degraded !== undefined && isUnanswered(degraded, match),
      isQuota,
      hits: undefined,
    };
  }
  const cost = ask.isRefund ? 0 : ask.cost;
  const [state] = refund !== undefined && 'states' in refund ? refund.states : [];
  // The counter itself refuses only what no limit can have room for; that was not added.
  const after = state === undefined ? count.used + (decision.allowed ? 0 : cost) : usedOf(state);
  const isOver = after > requestsPerUnit;
  return {
    isOver: isOver && !isShadow,
    limit,
    remaining: Math.max(0, requestsPerUnit - after),
    resetSeconds: count.resetSeconds,
    retrySeconds: isOver ? count.resetSeconds : undefined,
    degraded,
    isQuota,
    hits: hitsOf(match, cost, after, requestsPerUnit),
  };
}

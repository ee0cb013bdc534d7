import type { Decision, MaybePromise } from 'comporta';
import { hitsOf, isUnanswered, type Status, uncounted } from './answer.js';
import { type Counter, type Counters, countOf, joinedSubject, usedOf } from './counter.js';
import { type Match, matchesOf, replacedIn } from './match.js';
import { allOf, andThen } from './maybe.js';
import { type Part, partOf, WHOLE } from './part.js';
import { callOf, type Patience, type Refunded, refunded } from './refund.js';
import { type Ask, costOf } from './request.js';
import type { Domain, NamedRate } from './rules.js';

export interface CompatibleOptions {
  /** Look first, and charge nobody when anybody is over. */
  readonly stopsWhenOver: boolean;
  /** Nobody is refused, whatever the statuses say. */
  readonly isShadow: boolean;
}

/** A descriptor that a counter is asked for. */
interface Counted {
  readonly match: Match;
  readonly rate: NamedRate;
  readonly ask: Ask;
  /** The same as `ask`, or what a look looks for. */
  readonly wanted: Ask;
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
    const charge = (given: readonly Ask[]): MaybePromise<readonly Status[]> =>
      allOf(
        matches.map(
          (match, i) =>
            uncounted(match, replaced[i] === true) ??
            this.#charge(match as Match, given[i] as Ask, asks[i] as Ask, patience),
        ),
      );
    if (!this.#options.stopsWhenOver) return charge(asks);
    return andThen(charge(asks.map(looking)), (looks) => {
      const isOver = (look: Status, i: number): boolean => hasNoRoom(look, asks[i] as Ask);
      if (!looks.some(isOver)) return charge(asks);
      return looks.map((look, i) => (isOver(look, i) ? { ...look, isOver: true, remaining: 0 } : look));
    });
  }

  #charge(match: Match, ask: Ask, wanted: Ask, patience: Patience): MaybePromise<Status> {
    // Only unlimited rules have none, and those are not counted.
    const rate = match.rule.rate as NamedRate;
    const counter = this.#counters.of(rate.unit);
    const { counter: limiter } = counter.judged;
    const subject = joinedSubject(match);
    const startMs = counter.judged.start();
    const given = refunded(ask, { limiter, subject }, patience);
    const decided = limiter.decide(subject, callOf(ask, patience));
    const counted = { match, rate, ask, wanted, counter };
    return andThen(decided, (decision) =>
      andThen(given, (refund) => {
        const status = statusOf(counted, decision, refund);
        this.#tell(counted, decision, status, startMs);
        return status;
      }),
    );
  }

  /** A look is told where it refuses: then nothing follows it. */
  #tell(counted: Counted, decision: Decision, status: Status, startMs: number | undefined): void {
    const { match, ask, wanted, counter } = counted;
    const isLook = ask !== wanted;
    if (startMs === undefined || (isLook && !hasNoRoom(status, wanted))) return;
    const judgement = {
      cost: costOf(wanted),
      room: roomOf(counted, aloneIn(counted, decision)),
      remaining: status.remaining,
      // Said of rules in shadow mode too.
      isOver: isLook || status.retrySeconds !== undefined,
      isShadow: this.#options.isShadow || match.rule.isShadow,
    };
    counter.judged.tell(decision, judgement, startMs);
  }
}

const hasNoRoom = ({ limit, remaining }: Status, ask: Ask): boolean => limit !== undefined && remaining < costOf(ask);

/** Who counts alone knows of its own part only, and admits no more than its part of the limit. */
const aloneIn = ({ counter }: Counted, { degraded }: Decision): Part =>
  degraded === undefined ? WHOLE : counter.part();

const roomOf = ({ rate, ask }: Counted, alone: Part): number =>
  partOf(rate.requestsPerUnit, alone, Math.max(1, costOf(ask)));

const looking = (ask: Ask): Ask => ({ ...ask, cost: 0, isRefund: false });

function statusOf(counted: Counted, decision: Decision, refund: Refunded | undefined): Status {
  const { match, rate, ask } = counted;
  const { requestsPerUnit, unit } = rate;
  const { isShadow, isQuota } = match.rule;
  const degraded = decision.degraded ?? (refund !== undefined && 'degraded' in refund ? refund.degraded : undefined);
  const alone = aloneIn(counted, decision);
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
  const room = state === undefined ? roomOf(counted, alone) : requestsPerUnit;
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

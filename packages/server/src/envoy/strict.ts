import {
  type Check,
  type Decision,
  decideAll,
  decideEach,
  fixedWindow,
  type Limit,
  type Limiter,
  type LimitState,
  type MaybePromise,
} from 'comporta';
import { hitsOf, isUnanswered, type Status, uncounted } from './answer.js';
import type { Limiters } from './limiters.js';
import { type Match, matchesOf, replacedIn } from './match.js';
import { allOf, andThen } from './maybe.js';
import { callOf, type Patience, type Refunded, refunded } from './refund.js';
import { type Ask, BadRequest, costOf } from './request.js';
import type { Domain, NamedRate, Rate } from './rules.js';
import { LIMIT_MAX, UNITS, windowSeconds } from './units.js';

/** Limiters of overrides that are kept; those that were not used for longest are made again. */
const OVERRIDES_MAX = 1000;

/** A descriptor that a limiter is asked for. */
interface Limited {
  readonly match: Match;
  readonly ask: Ask;
  readonly check: Check & { readonly cost: number };
}

/**
 * Decides by limits with algorithms: all descriptors of a request pass, or none is charged. Rules in shadow or quota
 * mode decide each by itself, since they refuse nobody alone.
 */
export class StrictDomain {
  readonly #domain: Domain;
  readonly #made: Limiters;
  readonly #isShadow: boolean;
  readonly #ofRules: Map<unknown, Limiter> = new Map();
  readonly #ofOverrides: Map<string, Limiter> = new Map();

  /** `isShadow`: nobody is refused, whatever the statuses say. */
  constructor(domain: Domain, limiters: Limiters, isShadow: boolean) {
    this.#domain = domain;
    this.#made = limiters;
    this.#isShadow = isShadow;
  }

  decide(asks: readonly Ask[], patience: Patience): MaybePromise<readonly Status[]> {
    const matches = matchesOf(this.#domain, asks);
    const replaced = replacedIn(matches);
    const settled = matches.map((match, i) => uncounted(match, replaced[i] === true));
    const limited: Limited[] = [];
    for (const [i, match] of matches.entries()) {
      if (match !== undefined && settled[i] === undefined) limited.push(this.#limited(match, asks[i] as Ask));
    }
    return andThen(decideLimited(limited, patience, this.#isShadow), (statuses) => {
      let next = 0;
      return settled.map((status) => status ?? (statuses[next++] as Status));
    });
  }

  #limited(match: Match, ask: Ask): Limited {
    const limiter = ask.override === undefined ? this.#ofRule(match) : this.#ofOverride(ask.override);
    return { match, ask, check: { limiter, subject: subjectOf(match), cost: costOf(ask) } };
  }

  #ofRule({ rule }: Match): Limiter {
    const found =
      this.#ofRules.get(rule) ?? this.#limiter(rule.rate === undefined ? rule.limits : [windowOf(rule.rate)]);
    this.#ofRules.set(rule, found);
    return found;
  }

  #ofOverride(rate: Rate): Limiter {
    if (rate.requestsPerUnit > LIMIT_MAX)
      throw new BadRequest(`limit.requests_per_unit: must not be above ${LIMIT_MAX} in mode strict`);
    const name = `${rate.requestsPerUnit}/${rate.unit}`;
    const found = this.#ofOverrides.get(name) ?? this.#limiter([windowOf(rate)]);
    this.#ofOverrides.delete(name);
    this.#ofOverrides.set(name, found);
    if (this.#ofOverrides.size > OVERRIDES_MAX) {
      const [[name, limiter] = ['', found]] = this.#ofOverrides;
      this.#ofOverrides.delete(name);
      this.#made.drop(limiter);
    }
    return found;
  }

  #limiter(limits: readonly Limit[]): Limiter {
    return this.#made.make(this.#domain.name, limits);
  }
}

/** A text that no other entries can make, whatever is in them: a list of pairs. */
function subjectOf({ counted }: Match): string {
  let text = '';
  for (const { key, value } of counted) {
    text += `${text === '' ? '' : ','}[${JSON.stringify(key)},${JSON.stringify(value)}]`;
  }
  return `[${text}]`;
}

const isAlone = ({ match, ask }: Limited): boolean => match.rule.isShadow || match.rule.isQuota || ask.isRefund;

function decideLimited(
  limited: readonly Limited[],
  patience: Patience,
  isShadow: boolean,
): MaybePromise<readonly Status[]> {
  const [first] = limited;
  if (first !== undefined && limited.length === 1) {
    return andThen(decideOne(first, patience, isShadow), (status) => [status]);
  }
  const [alone, together] = [limited.filter(isAlone), limited.filter((one) => !isAlone(one))];
  const shadowed = alone.filter(({ match }) => match.rule.isShadow);
  const quota = alone.filter(({ match }) => !match.rule.isShadow);
  const given = limited.map(({ ask, check }) => refunded(ask, check, patience));
  const options = isShadow ? { ...patience, shadow: true } : patience;
  const all = decideAll(together.map(checkOf), options);
  const each = decideEach(quota.map(checkOf), options);
  const shadow = decideEach(shadowed.map(checkOf), { ...patience, shadow: true });
  return andThen(all, ({ allowed, decisions }) =>
    andThen(allOf([each, shadow]), (others) =>
      andThen(allOf(given), (refunds) => {
        const answers = [...decisions, ...others.flat()];
        const made = new Map([...together, ...quota, ...shadowed].map((one, i) => [one, answers[i] as Decision]));
        return limited.map((one, i) => statusOf(one, made.get(one) as Decision, refunds[i], !isAlone(one) && !allowed));
      }),
    ),
  );
}

/** Refused or not, there are no others whose charges would have to go back. */
function decideOne(one: Limited, patience: Patience, isShadow: boolean): MaybePromise<Status> {
  const { limiter, subject } = one.check;
  const given = refunded(one.ask, one.check, patience);
  const call = callOf(one.ask, patience);
  const options = isShadow || one.match.rule.isShadow ? { ...call, shadow: true } : call;
  const decided = limiter.decide(subject, options);
  return andThen(decided, (decision) => andThen(given, (refund) => statusOf(one, decision, refund, false)));
}

const checkOf = ({ check }: Limited): Check => check;

/** The windows of one unit share a count, whatever their number. */
const windowOf = ({ requestsPerUnit, unit }: Rate): Limit =>
  fixedWindow({ limit: requestsPerUnit, window: windowSeconds(unit) * 1000, id: unit.toLowerCase() });

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

/** `isRefused`: some other descriptor, or this one, refused the request; what was charged has gone back. */
function statusOf(
  { match, ask }: Limited,
  decided: Decision,
  refund: Refunded | undefined,
  isRefused: boolean,
): Status {
  const decision = afterwards(decided, ask, refund, isRefused);
  const { name, rate, isShadow, isQuota } = match.rule;
  const { binding, retryAfterMs, degraded } = decision;
  const isUnknown = degraded !== undefined && isUnanswered(degraded, match);
  const isOver = !decision.allowed && degraded?.mode !== 'closed';
  const told = rate ?? rateOf(binding, name);
  return {
    isOver: isOver && !isShadow,
    limit: told,
    remaining: binding?.remaining ?? told?.requestsPerUnit ?? 0,
    resetSeconds: binding && secondsOf(binding.resetAfterMs),
    retrySeconds: isOver && retryAfterMs !== null ? secondsOf(retryAfterMs) : undefined,
    degraded,
    isUnanswered: isUnknown,
    isQuota,
    hits: binding && hitsOf(match, costOf(ask), usedAfter(decided, ask), binding.limit),
  };
}

/** What holds once everything has been given back. */
function afterwards(decision: Decision, ask: Ask, refund: Refunded | undefined, isRefused: boolean): Decision {
  const { binding, degraded } = decision;
  if (refund !== undefined && 'degraded' in refund) return { ...decision, degraded: degraded ?? refund.degraded };
  if (refund !== undefined) {
    const [least] = [...refund.states].sort((a, b) => a.remaining - b.remaining);
    return { ...decision, binding: least ?? binding };
  }
  if (!isRefused || !decision.allowed || binding === undefined) return decision;
  return { ...decision, binding: { ...binding, remaining: Math.min(binding.limit, binding.remaining + ask.cost) } };
}

/** As much as the binding limit would have used, had it admitted. */
function usedAfter({ allowed, binding }: Decision, { cost, isRefund }: Ask): number {
  if (binding === undefined) return 0;
  return binding.limit - binding.remaining + (allowed || isRefund ? 0 : cost);
}

const LONGEST_FIRST = [...UNITS].sort((a, b) => windowSeconds(b) - windowSeconds(a));

/** A limit as the protocol can say it: the longest unit that its window has room for, and what that comes to. */
function rateOf(binding: LimitState | undefined, name: string): NamedRate | undefined {
  if (binding === undefined) return undefined;
  const windowS = Math.max(1, binding.windowMs / 1000);
  const unit = LONGEST_FIRST.find((one) => windowSeconds(one) <= windowS) ?? 'SECOND';
  return { requestsPerUnit: Math.round((binding.limit * windowSeconds(unit)) / windowS), unit, name };
}

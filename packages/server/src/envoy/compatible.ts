import { type Check, type Decision, decideEach, type LimitState } from 'comporta';
import { hitsOf, type Status, uncounted } from './answer.js';
import { type Counters, countOf, joinedSubject, usedOf } from './counter.js';
import { type Match, matchOf, overrideOf, replacedIn } from './match.js';
import type { Ask } from './request.js';
import type { Domain, Rate } from './rules.js';

export interface CompatibleOptions {
  /** Look first, and charge nobody when anybody is over. */
  readonly stopsWhenOver: boolean;
}

/** How long a decision may take, and who may end it. */
export interface Patience {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
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

  async decide(asks: readonly Ask[], patience: Patience): Promise<readonly Status[]> {
    const matches = asks.map(({ entries, override }) =>
      override === undefined ? matchOf(this.#domain, entries) : overrideOf(this.#domain, entries, override),
    );
    const replaced = replacedIn(matches);
    const settled = matches.map((match, i) => uncounted(match, replaced[i] === true));
    const counted = matches.flatMap((match, i): Counted[] => {
      const rate = match?.rule.rate;
      return settled[i] === undefined && match !== undefined && rate !== undefined
        ? [{ match, rate, ask: asks[i] as Ask }]
        : [];
    });
    const statuses = (await this.#count(counted, patience))[Symbol.iterator]();
    return settled.map((status) => status ?? (statuses.next().value as Status));
  }

  async #count(counted: readonly Counted[], patience: Patience): Promise<readonly Status[]> {
    if (!this.#options.stopsWhenOver) return this.#charge(counted, patience);
    const looks = await this.#charge(counted.map(looking), patience);
    const isAnyOver = looks.some(({ remaining, limit }, i) => limit !== undefined && remaining < costOf(counted[i]));
    if (!isAnyOver) return this.#charge(counted, patience);
    return looks.map((look, i) =>
      look.remaining < costOf(counted[i]) ? { ...look, isOver: true, remaining: 0 } : look,
    );
  }

  async #charge(counted: readonly Counted[], patience: Patience): Promise<readonly Status[]> {
    const checks = counted.map(({ match, rate, ask }): Check => {
      const limiter = this.#counters.limiter(rate.unit);
      return { limiter, subject: joinedSubject(match), cost: ask.isRefund ? 0 : ask.cost };
    });
    const decisions = await decideEach(checks, patience);
    return Promise.all(
      counted.map(async (one, i) => {
        const decision = decisions[i] as Decision;
        const given = one.ask.isRefund ? await this.#giveBack(one) : undefined;
        return statusOf(one, decision, given);
      }),
    );
  }

  /** The newest use, whoever's it was. */
  async #giveBack({ match, rate, ask }: Counted): Promise<LimitState | undefined> {
    if (ask.cost === 0) return undefined;
    const [state] = await this.#counters.limiter(rate.unit).reward(joinedSubject(match), ask.cost);
    return state;
  }
}

const looking = (one: Counted): Counted => ({ ...one, ask: { ...one.ask, cost: 0, isRefund: false } });

const costOf = (one: Counted | undefined): number => (one?.ask.isRefund === true ? 0 : (one?.ask.cost ?? 0));

function statusOf({ match, rate, ask }: Counted, decision: Decision, given: LimitState | undefined): Status {
  const { degraded } = decision;
  const { name, isShadow, isQuota } = match.rule;
  const limit = { ...rate, name };
  const count = countOf(decision, rate.unit);
  if (count === undefined) {
    // Nobody counted: open lets it pass, closed is the caller's affair.
    return {
      isOver: false,
      limit,
      remaining: rate.requestsPerUnit,
      resetSeconds: undefined,
      degraded,
      isQuota,
      hits: undefined,
    };
  }
  const cost = ask.isRefund ? 0 : ask.cost;
  // The counter itself refuses only what no limit can have room for; that was not added.
  const after = given === undefined ? count.used + (decision.allowed ? 0 : cost) : usedOf(given);
  const isOver = after > rate.requestsPerUnit;
  return {
    isOver: isOver && !isShadow,
    limit,
    remaining: Math.max(0, rate.requestsPerUnit - after),
    resetSeconds: count.resetSeconds,
    retrySeconds: isOver ? count.resetSeconds : undefined,
    degraded,
    isQuota,
    hits: hitsOf(match, cost, after, rate.requestsPerUnit),
  };
}

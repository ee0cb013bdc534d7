import {
  type Check,
  createLimiter,
  type Decision,
  decideAll,
  decideEach,
  fixedWindow,
  type Limit,
  type Limiter,
  type LimitState,
} from 'comporta';
import { hitsOf, type Status, uncounted } from './answer.js';
import type { Patience } from './compatible.js';
import type { LimiterSettings } from './counter.js';
import { type Match, matchOf, overrideOf, replacedIn } from './match.js';
import { nameOf } from './names.js';
import type { Ask } from './request.js';
import type { Domain, Rate } from './rules.js';
import { UNITS, windowSeconds } from './units.js';

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
  readonly #settings: LimiterSettings;
  readonly #limiters: Map<unknown, Limiter> = new Map();
  readonly #overrides: Map<string, Limiter> = new Map();

  constructor(domain: Domain, settings: LimiterSettings) {
    this.#domain = domain;
    this.#settings = settings;
  }

  async decide(asks: readonly Ask[], patience: Patience): Promise<readonly Status[]> {
    const matches = asks.map(({ entries, override }) =>
      override === undefined ? matchOf(this.#domain, entries) : overrideOf(this.#domain, entries, override),
    );
    const replaced = replacedIn(matches);
    const settled = matches.map((match, i) => uncounted(match, replaced[i] === true));
    const limited = matches.flatMap((match, i): Limited[] =>
      match === undefined || settled[i] !== undefined ? [] : [this.#limited(match, asks[i] as Ask)],
    );
    const statuses = (await this.#decide(limited, patience))[Symbol.iterator]();
    return settled.map((status) => status ?? (statuses.next().value as Status));
  }

  async #decide(limited: readonly Limited[], patience: Patience): Promise<readonly Status[]> {
    const isAlone = ({ match, ask }: Limited): boolean => match.rule.isShadow || match.rule.isQuota || ask.isRefund;
    const [alone, together] = [limited.filter(isAlone), limited.filter((one) => !isAlone(one))];
    const [each, all] = await Promise.all([
      decideEach(
        alone.map(({ check }) => check),
        patience,
      ),
      decideAll(
        together.map(({ check }) => check),
        patience,
      ),
    ]);
    const decisions = new Map<Limited, Decision>([
      ...alone.map((one, i) => [one, each[i] as Decision] as const),
      ...together.map((one, i) => [one, all.decisions[i] as Decision] as const),
    ]);
    return Promise.all(limited.map((one) => this.#status(one, decisions.get(one) as Decision)));
  }

  async #status(one: Limited, decision: Decision): Promise<Status> {
    const { ask, check } = one;
    if (!ask.isRefund || ask.cost === 0) return statusOf(one, decision);
    const limits = await check.limiter.reward(check.subject, ask.cost);
    return statusOf(one, { ...decision, limits, binding: [...limits].sort((a, b) => a.remaining - b.remaining)[0] });
  }

  #limited(match: Match, ask: Ask): Limited {
    const limiter = ask.override === undefined ? this.#ofRule(match) : this.#ofOverride(ask.override);
    // A text that no other entries can make, whatever is in them.
    const subject = JSON.stringify(match.counted.map(({ key, value }) => [key, value]));
    return { match, ask, check: { limiter, subject, cost: ask.isRefund ? 0 : ask.cost } };
  }

  #ofRule({ rule }: Match): Limiter {
    const found =
      this.#limiters.get(rule) ?? this.#limiter(rule.rate === undefined ? rule.limits : [windowOf(rule.rate)]);
    this.#limiters.set(rule, found);
    return found;
  }

  #ofOverride(rate: Rate): Limiter {
    const name = `${rate.requestsPerUnit}/${rate.unit}`;
    const found = this.#overrides.get(name) ?? this.#limiter([windowOf(rate)]);
    this.#overrides.delete(name);
    this.#overrides.set(name, found);
    if (this.#overrides.size > OVERRIDES_MAX) {
      const [oldest = ''] = this.#overrides.keys();
      void this.#overrides.get(oldest)?.close();
      this.#overrides.delete(oldest);
    }
    return found;
  }

  #limiter(limits: readonly Limit[]): Limiter {
    return createLimiter({ ...this.#settings, policy: nameOf(this.#domain.name), limits });
  }
}

/** The windows of one unit share a count, whatever their number. */
const windowOf = ({ requestsPerUnit, unit }: Rate): Limit =>
  fixedWindow({ limit: requestsPerUnit, window: windowSeconds(unit) * 1000, id: unit.toLowerCase() });

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

function statusOf({ match, ask }: Limited, decision: Decision): Status {
  const { name, rate, isShadow, isQuota } = match.rule;
  const { binding, retryAfterMs, degraded } = decision;
  const isOver = !decision.allowed;
  const told = rate ?? rateOf(binding);
  return {
    isOver: isOver && !isShadow,
    limit: told && { ...told, name },
    remaining: binding?.remaining ?? told?.requestsPerUnit ?? 0,
    resetSeconds: binding && secondsOf(binding.resetAfterMs),
    retrySeconds: isOver && retryAfterMs !== null ? secondsOf(retryAfterMs) : undefined,
    degraded,
    isQuota,
    hits: binding && hitsOf(match, ask.isRefund ? 0 : ask.cost, usedAfter(decision, ask), binding.limit),
  };
}

/** As much as the binding limit would have used, had it admitted. */
function usedAfter({ allowed, binding }: Decision, { cost, isRefund }: Ask): number {
  if (binding === undefined) return 0;
  return binding.limit - binding.remaining + (allowed || isRefund ? 0 : cost);
}

/** A limit as the protocol can say it: the longest unit that its window has room for, and what that comes to. */
function rateOf(binding: LimitState | undefined): Rate | undefined {
  if (binding === undefined) return undefined;
  const windowS = Math.max(1, binding.windowMs / 1000);
  const unit = [...UNITS]
    .sort((a, b) => windowSeconds(b) - windowSeconds(a))
    .find((one) => windowSeconds(one) <= windowS);
  const perWindow = windowSeconds(unit ?? 'SECOND') / windowS;
  return { requestsPerUnit: Math.round(binding.limit * perWindow), unit: unit ?? 'SECOND' };
}

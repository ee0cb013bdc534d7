import type { Degraded } from 'comporta';
import type { Status } from './answer.js';
import { CompatibleDomain, type Patience } from './compatible.js';
import { Counters, type LimiterSettings } from './counter.js';
import { headersOf, isRefused, type OverallOptions } from './overall.js';
import { asksOf, type RateLimitRequest } from './request.js';
import type { Domain } from './rules.js';
import { StrictDomain } from './strict.js';

export interface ServiceOptions extends OverallOptions {
  readonly mode: 'compatible' | 'strict';
  readonly limiters: LimiterSettings;
  /** Add `RateLimit-*` fields to what the client gets. */
  readonly addsHeaders?: boolean;
  /** In compatible mode: look first, and charge nobody when anybody is over. */
  readonly stopsWhenOver?: boolean;
}

/** The answer to a request. */
export interface RateLimitAnswer {
  readonly isOver: boolean;
  /** One per descriptor, in their order. */
  readonly statuses: readonly Status[];
  readonly headers: readonly (readonly [string, string])[];
  /** Set where a store did not make the decision. */
  readonly degraded: Degraded | undefined;
  readonly isDomainKnown: boolean;
}

interface Decider {
  decide(asks: ReturnType<typeof asksOf>, patience: Patience): Promise<readonly Status[]>;
}

const NO_RULE: Status = {
  isOver: false,
  limit: undefined,
  remaining: 0,
  resetSeconds: undefined,
  degraded: undefined,
  isQuota: false,
  hits: undefined,
};

/** Answers requests by the domains of one configuration; knows nothing of how they came. */
export class RateLimitService {
  readonly #deciders: ReadonlyMap<string, Decider>;
  readonly #options: ServiceOptions;

  constructor(domains: ReadonlyMap<string, Domain>, options: ServiceOptions) {
    const { mode, limiters, stopsWhenOver = false } = options;
    const deciderOf = (domain: Domain): Decider =>
      mode === 'strict'
        ? new StrictDomain(domain, limiters)
        : new CompatibleDomain(domain, new Counters(domain.name, limiters), { stopsWhenOver });
    this.#deciders = new Map([...domains].map(([name, domain]) => [name, deciderOf(domain)]));
    this.#options = options;
  }

  /** Throws `BadRequest` for what its sender must change. */
  async decide(request: RateLimitRequest, patience: Patience = {}): Promise<RateLimitAnswer> {
    const asks = asksOf(request);
    const decider = this.#deciders.get(request.domain);
    const statuses = decider === undefined ? asks.map(() => NO_RULE) : await decider.decide(asks, patience);
    return {
      isOver: isRefused(statuses, this.#options),
      statuses,
      headers: this.#options.addsHeaders === true ? headersOf(statuses) : [],
      degraded: statuses.find(({ degraded }) => degraded !== undefined)?.degraded,
      isDomainKnown: decider !== undefined,
    };
  }
}

import type { Degraded, MaybePromise } from 'comporta';
import type { Status } from './answer.js';
import { CompatibleDomain } from './compatible.js';
import { Counters } from './counter.js';
import { type LimiterSettings, Limiters, type OnLimiter } from './limiters.js';
import { headersOf, isRefused, type OverallOptions } from './overall.js';
import type { Patience } from './refund.js';
import { asksOf, type RateLimitRequest } from './request.js';
import type { Domain } from './rules.js';
import { StrictDomain } from './strict.js';

export interface ServiceOptions extends OverallOptions {
  readonly mode: 'compatible' | 'strict';
  readonly limiters: LimiterSettings;
  readonly onLimiter?: OnLimiter;
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
  /** The store did not answer, and a rule that would have had to decide refuses without it. */
  readonly isUnavailable: boolean;
  readonly isDomainKnown: boolean;
}

const NO_HEADERS: RateLimitAnswer['headers'] = [];
const isDegraded = ({ degraded }: Status): boolean => degraded !== undefined;
const isUnanswered = (status: Status): boolean => status.isUnanswered === true;

interface Decider {
  decide(asks: ReturnType<typeof asksOf>, patience: Patience): MaybePromise<readonly Status[]>;
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

const unheard: OnLimiter = () => () => undefined;

/** The limiters' own time limit. */
const PATIENT: Patience = {};

/** Answers requests by the domains of one configuration; knows nothing of how they came. */
export class RateLimitService {
  readonly #deciders: ReadonlyMap<string, Decider>;
  readonly #options: ServiceOptions;
  readonly #limiters: Limiters;
  #pending = 0;
  #onIdle: (() => void) | undefined;

  constructor(domains: ReadonlyMap<string, Domain>, options: ServiceOptions) {
    const { mode, stopsWhenOver = false, isShadow = false } = options;
    this.#limiters = new Limiters(options.limiters, options.onLimiter ?? unheard);
    const deciderOf = (domain: Domain): Decider =>
      mode === 'strict'
        ? new StrictDomain(domain, this.#limiters, isShadow)
        : new CompatibleDomain(domain, new Counters(domain.name, this.#limiters), { stopsWhenOver, isShadow });
    this.#deciders = new Map([...domains].map(([name, domain]) => [name, deciderOf(domain)]));
    this.#options = options;
  }

  /** No promise where the store answers at once. Throws `BadRequest` for what its sender must change. */
  decide(request: RateLimitRequest, patience: Patience = PATIENT): MaybePromise<RateLimitAnswer> {
    const asks = asksOf(request);
    const decider = this.#deciders.get(request.domain);
    if (decider === undefined)
      return this.#answer(
        asks.map(() => NO_RULE),
        false,
      );
    const statuses = decider.decide(asks, patience);
    if (!(statuses instanceof Promise)) return this.#answer(statuses, true);
    this.#pending++;
    return statuses.then(
      (settled) => {
        this.#left();
        return this.#answer(settled, true);
      },
      (error: unknown) => {
        this.#left();
        throw error;
      },
    );
  }

  /** Takes no more requests; resolves when the last one was decided and its limiters are closed. */
  async close(): Promise<void> {
    if (this.#pending > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.#limiters.close();
  }

  #left(): void {
    this.#pending--;
    if (this.#pending === 0) this.#onIdle?.();
  }

  #answer(statuses: readonly Status[], isDomainKnown: boolean): RateLimitAnswer {
    const { isShadow = false, addsHeaders = false } = this.#options;
    const isOver = isRefused(statuses, this.#options);
    return {
      isOver,
      statuses,
      headers: addsHeaders ? headersOf(statuses) : NO_HEADERS,
      degraded: statuses.find(isDegraded)?.degraded,
      isUnavailable: !isOver && !isShadow && statuses.some(isUnanswered),
      isDomainKnown,
    };
  }
}

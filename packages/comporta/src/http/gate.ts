import type { Decision } from '../core/decision.js';
import type { ComportaError } from '../core/errors.js';
import type { RequestView } from '../identity/view.js';
import type { Limiter, LimiterOptions } from '../limiter/limiter.js';
import type { AddressList, Outcome, Policy } from '../policies/policy.js';
import type { MaybePromise, Store } from '../stores/store.js';
import { checkGateOptions } from './gate-options.js';
import type { Field, HeaderForm } from './headers.js';
import { PolicyGate } from './policy-gate.js';

export interface GateOptions<Request = unknown> {
  readonly policies: readonly Policy<Request>[];
  /** Shared by all policies; a memory store when left out. */
  readonly store?: Store;
  readonly timeoutMs?: number;
  readonly onStoreFailure?: Policy['onStoreFailure'];
  /** How many processes share the limits while the store is away; `auto` by default. */
  readonly instances?: LimiterOptions['instances'];
  /** Charge the store, once it is back, with what mode `local` admitted; true by default. */
  readonly payBack?: boolean;
  /** CIDRs (or `loopback`, `private`) of proxies whose forwarding header is believed; none by default. */
  readonly trustedProxies?: readonly string[];
  /** The one header that trusted proxies write; `x-forwarded-for` by default. */
  readonly forwardedHeader?: 'x-forwarded-for' | 'forwarded' | (string & {});
  /** Bits of an IPv6 address that name one client: 32 to 128, 64 by default. */
  readonly ipv6Prefix?: number;
  readonly headers?: HeaderForm | readonly HeaderForm[];
  /** Clients that no policy applies to: addresses and CIDRs, or a function. */
  readonly allow?: AddressList<Request>;
  /** Clients that are refused with 403, and not counted; before `allow`. */
  readonly deny?: AddressList<Request>;
  /** Count CORS preflight requests too; false by default. */
  readonly countPreflight?: boolean;
  /** Told of faulty key and cost functions and of clients without an address; prints each once by default. */
  readonly onError?: (error: ComportaError) => void;
  /** Told of every verdict: for metrics and logs. */
  readonly onVerdict?: (verdict: Verdict, view: RequestView<Request>) => void;
}

/** What to do with one request. */
export interface Verdict {
  readonly allowed: boolean;
  /** 429 for a denial, 503 when `closed` during an outage, 403 by a list of `deny`, 0 when allowed. */
  readonly status: number;
  /** To set on the response, allowed or not. Names are lower case. */
  readonly headers: readonly Field[];
  /** Body of the refusal (`application/problem+json`); empty when allowed. */
  readonly body: string;
  /** One per matching policy, in order; shadow policies included. */
  readonly decisions: readonly Decision[];
  /** Those of the decisions that are reported and not enforced. */
  readonly shadowed: readonly Decision[];
  /** Whose `deny` names the request: policies by name, those in shadow mode included; `*` is the gate's own. */
  readonly deniedBy: readonly string[];
  /**
   * To be called when the response has ended, in whatever way; `undefined` when nothing is to be done then.
   * Only the first call counts; it never throws. Places of concurrency limits are held until then.
   */
  readonly finish?: ((outcome: Outcome) => void) | undefined;
}

export interface Gate<Request = unknown> {
  /**
   * Never throws and never rejects: a faulty key function counts as anonymous, a faulty cost as 1, both
   * reported. `cost`, when given, takes the place of every policy's own; of the policies only those in `only`
   * are asked, all by default.
   */
  check(
    view: RequestView<Request>,
    signal?: AbortSignal,
    cost?: number,
    only?: ReadonlySet<string>,
  ): MaybePromise<Verdict>;
  /**
   * The subject of requests whose key has these values, in the order of its parts; an address stands for its
   * client. `undefined` when there can be no such subject, or is no such policy.
   */
  subjectOf(policy: string, values: readonly string[]): string | undefined;
  /** The limiter of each policy, by name. */
  readonly limiters: ReadonlyMap<string, Limiter>;
  /** Resolves when all is done that refusals and responses which have ended still change; never rejects. */
  settled(): Promise<void>;
  /** Ends the limiters, and the store when the gate made it, after what responses that have ended still change. */
  close(): Promise<void>;
}

/** Makes a gate; throws a `ComportaError` naming the option when one cannot be meant. Needs no running store. */
export function createGate<Request = unknown>(options: GateOptions<Request>): Gate<Request> {
  checkGateOptions(options);
  return new PolicyGate(options);
}

import type { Limit } from '../algorithms/algorithm.js';
import type { FailureMode } from '../core/decision.js';
import type { Duration } from '../core/duration.js';
import type { Key, KeySource } from '../identity/subject.js';
import type { RequestView } from '../identity/view.js';

/** A named rule: which requests it matches, who is counted, how much, and what happens in an outage. */
export interface Policy<Request = unknown> {
  /** 1 to 64 of `A-Z a-z 0-9 _ . -`; unique. */
  readonly name: string;
  /** Requests that the policy applies to; all when left out. Every policy that matches applies. */
  readonly match?: Match;
  /** One source, a list (all parts make one subject), or a function of the request. `ip` by default. */
  readonly key?: Key<Request>;
  readonly limits: Limit | readonly Limit[];
  /** Cost of a request: whole number or a function; 1 by default. */
  readonly cost?: number | ((view: RequestView<Request>) => number);
  readonly timeoutMs?: number;
  readonly onStoreFailure?: FailureMode;
  /** How many processes share the limits while the store is away; the gate's own when left out. */
  readonly instances?: number | 'auto';
  /** How long, at most, a refused subject is refused without asking the store: 1 ms to 60 s, 20 ms by default. */
  readonly hold?: Duration | false;
  /** Units fetched ahead for hot subjects, by which all processes together go beyond the limits so far at most. */
  readonly lease?: { readonly maxOvershoot: string | number; readonly lasts?: Duration; readonly strict?: boolean };
  /** Subjects that live in so many parts, on masters of their own: all of the policy, or these alone. */
  readonly split?: { readonly parts: number; readonly subjects?: readonly string[] };
  /**
   * Which requests stay charged, once their outcome is known: `all` (default), `failures` (a status of 400 or
   * more, or no answer), `successes` (the others), or the final cost by a function: a whole number from 0.
   */
  readonly count?: 'all' | 'failures' | 'successes' | CountFunction<Request>;
  /** Limits of plans, by name; `plan` says whose they are. */
  readonly plans?: Readonly<Record<string, Limit | readonly Limit[]>>;
  /** Names the plan of a request; other values than the names in `plans` leave it with `limits`. */
  readonly plan?: PlanSource<Request>;
  /** Subjects can be blocked: by hand, and by themselves after so many refusals. */
  readonly blocks?: true | { readonly after: number; readonly within: Duration; readonly lasts: Duration };
  /** Subjects may have limits of their own, kept in the store. */
  readonly overrides?: boolean;
  /** Number that grows with every change of the limits: during a roll-out the newest decides. */
  readonly revision?: number;
  /** Requests that the policy does not apply to: they are not counted. */
  readonly allow?: AccessList<Request>;
  /** Requests that are refused with 403 and not counted; before `allow`. */
  readonly deny?: AccessList<Request>;
  /** Decide and report, but never refuse: for everybody, or for so many per cent (0 to 100) of the subjects. */
  readonly shadow?: boolean | { readonly percent: number };
}

/** How a request ended. */
export interface Outcome {
  /** Of the response; 0 when none was sent. */
  readonly status: number;
  /** The response did not reach its end: the client went away, or the connection broke. */
  readonly aborted: boolean;
}

/** Final cost of a request that was charged `cost`. */
export type CountFunction<Request = unknown> = (
  outcome: Outcome & { readonly cost: number },
  view: RequestView<Request>,
) => number;

/** A source whose value is the plan's name, a table from the values of a source to plans, or a function. */
export type PlanSource<Request = unknown> =
  | KeySource
  | { readonly by: KeySource; readonly of: Readonly<Record<string, string>> }
  | ((view: RequestView<Request>) => string | undefined);

/** Addresses and CIDRs (or `loopback`, `private`), or a function. */
export type AddressList<Request = unknown> = readonly string[] | ((view: RequestView<Request>) => boolean);

/** As {@link AddressList}; or with `subjects`, exact values of the policy's key: a list each where the key is one. */
export type AccessList<Request = unknown> =
  | AddressList<Request>
  | { readonly addresses?: readonly string[]; readonly subjects?: readonly (string | readonly string[])[] };

/** All given parts must match. */
export interface Match {
  /** `/api/*` (`/api` and any depth below), `/users/:id`, or a list of such patterns. Case does not matter. */
  readonly path?: string | readonly string[];
  /** Upper-case method names; GET includes HEAD. */
  readonly methods?: readonly string[];
  /** Host names without port, `*.example.com` allowed. */
  readonly hosts?: readonly string[];
}

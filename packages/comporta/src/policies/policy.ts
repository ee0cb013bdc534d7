import type { Limit } from '../algorithms/algorithm.js';
import type { FailureMode } from '../core/decision.js';
import type { Key } from '../identity/subject.js';
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
  /** Decide and report, but never refuse. */
  readonly shadow?: boolean;
}

/** All given parts must match. */
export interface Match {
  /** `/api/*` (`/api` and any depth below), `/users/:id`, or a list of such patterns. Case does not matter. */
  readonly path?: string | readonly string[];
  /** Upper-case method names; GET includes HEAD. */
  readonly methods?: readonly string[];
  /** Host names without port, `*.example.com` allowed. */
  readonly hosts?: readonly string[];
}

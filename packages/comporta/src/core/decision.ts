/** What a policy does when its store cannot answer in time. */
export type FailureMode = 'local' | 'open' | 'closed';

/** Why a decision was not made by the store. */
export type DegradedCause =
  /** No answer within the time limit. */
  | 'timeout'
  /** No connection, or the server says that it cannot serve. */
  | 'unavailable'
  /** The server answers, and only a person can mend what it complains of: rights, types, settings. */
  | 'misconfigured'
  /** The caller gave up first. */
  | 'aborted'
  /** The node failed lately: it was not asked. */
  | 'breaker-open'
  /** The node owes too many answers already: it was not asked. */
  | 'overloaded';

/** Marks a decision that the store did not make. */
export interface Degraded {
  readonly mode: FailureMode;
  readonly cause: DegradedCause;
  /** The client's or the server's own words, for logs; may name hosts, never sent to callers. */
  readonly detail: string;
}

/** State of one limit after a decision. */
export interface LimitState {
  /** Id of the limit inside its policy. */
  readonly id: string;
  /** Largest cost that the limit can ever admit at once: capacity or limit. */
  readonly limit: number;
  /** Window of a window limit, time to fill an empty bucket of a token bucket, in ms. */
  readonly windowMs: number;
  /** Cost that is still available now; never negative. */
  readonly remaining: number;
  /** 0 when this limit admits the request; ms until it would; `null` when it never can. */
  readonly retryAfterMs: number | null;
  /** Ms until the limit is as if unused; 0 when it is. */
  readonly resetAfterMs: number;
  /** Ms until `remaining` grows by at least one; 0 when it is full. */
  readonly nextAfterMs: number;
}

export type DenialReason =
  | 'limit-exceeded'
  /** Waiting does not help. */
  | 'cost-exceeds-limit'
  /** Shut out by hand, or for too many refusals. */
  | 'blocked'
  | 'store-unavailable'
  /** An answer of `wait` only: the limiter's queues are full. */
  | 'too-many-waiting';

/** The answer to one request. A denial is a value, never an exception. */
export interface Decision {
  readonly allowed: boolean;
  /** Why not; `undefined` when allowed. */
  readonly reason: DenialReason | undefined;
  readonly policy: string;
  readonly subject: string;
  readonly cost: number;
  /** Unique per decision; makes a refund idempotent. */
  readonly id: string;
  /** Time by the deciding clock (the key's server, if Redis decided), in µs since the epoch; 0 when nobody counted. */
  readonly atUs: number;
  /** One state per limit in the policy's order; empty when the failure mode answered without counting. */
  readonly limits: readonly LimitState[];
  /** The limit to name: the violated one with the longest wait, else the one with least left. */
  readonly binding: LimitState | undefined;
  /** 0 when allowed; the longest wait over the violated limits; `null` when waiting does not help. */
  readonly retryAfterMs: number | null;
  /** Set when the store did not make this decision. */
  readonly degraded: Degraded | undefined;
}

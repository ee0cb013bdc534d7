import type { Limit } from '../algorithms/algorithm.js';
import type { Decision, FailureMode } from '../core/decision.js';
import type { LimiterEvents, Listener } from '../core/events.js';
import type { MaybePromise, Store } from '../stores/store.js';

/** Settings of {@link createLimiter}. */
export interface LimiterOptions {
  /** Name of the policy: part of every key, shown in headers. 1 to 64 of `A-Z a-z 0-9 _ . -`. */
  readonly policy: string;
  /** 1 to 8 limits; a request passes when all of them admit it, and only then is any charged. */
  readonly limits: Limit | readonly Limit[];
  /** Where state lives; a memory store of its own when left out. */
  readonly store?: Store;
  /** Hard limit on every decision, in ms: 1 to 60 000, 50 by default. */
  readonly timeoutMs?: number;
  /** What to do when the store cannot answer in time; `local` by default. */
  readonly onStoreFailure?: FailureMode;
  /**
   * How many processes share the limit while the store is away: in mode `local` each then enforces its part.
   * `auto` (default) is the number that last used the store; 1 lets each admit the whole limit.
   */
  readonly instances?: number | 'auto';
  /** Charge the store, once it is back, with what mode `local` admitted in its place; true by default. */
  readonly payBack?: boolean;
}

/** Settings of one call. */
export interface CallOptions {
  /** Whole number from 0 (a look that charges nothing) to 2^53 - 1; 1 by default. */
  readonly cost?: number;
  /** Aborting ends the wait at once; the decision then follows the failure mode. */
  readonly signal?: AbortSignal;
  /** A shorter time limit for this call, in ms. */
  readonly timeoutMs?: number;
}

/** Decides for the subjects of one policy. */
export interface Limiter {
  readonly policy: string;
  readonly limits: readonly (Limit & { readonly id: string })[];
  /** Decides and charges. Throws only on misuse: `ERR_COST`, `ERR_SUBJECT`, `ERR_CLOSED`. */
  consume(subject: string, options?: CallOptions): Promise<Decision>;
  /** As {@link Limiter.consume}, but without a promise when the store answers at once. */
  decide(subject: string, options?: CallOptions): MaybePromise<Decision>;
  /** What `consume` would answer now; changes nothing. */
  peek(subject: string, options?: CallOptions): Promise<Decision>;
  /**
   * Gives back what an allowed decision charged, or `amount` of it; once per decision. True when
   * something was given back; false when the charge no longer counts, was refunded before, or the
   * store could not be reached in time.
   */
  refund(decision: Decision, amount?: number): Promise<boolean>;
  /** Forgets a subject. Rejects with a `StoreError` when the store cannot do it in time. */
  reset(subject: string): Promise<{ readonly keysRemoved: number }>;
  on<K extends keyof LimiterEvents>(name: K, listener: Listener<LimiterEvents[K]>): () => void;
  /** Ends the limiter; the store stays open when it was passed in. Later calls throw `ERR_CLOSED`. */
  close(): Promise<void>;
}

import type { Limit } from '../algorithms/algorithm.js';
import type { Decision, FailureMode, LimitState } from '../core/decision.js';
import type { Duration } from '../core/duration.js';
import type { LimiterEvents, Listener } from '../core/events.js';
import type { MaybePromise, Store } from '../stores/store.js';
import type { AcquireOptions, Lease } from './lease.js';
import type { LeaseBound, LeaseSettings } from './lease-rule.js';
import type { Reservation, ReserveOptions, Settlement } from './reservation.js';
import type { SplitSettings } from './split-rule.js';
import type { Override } from './terms.js';
import type { WaitOptions } from './wait.js';

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
   * `auto` (default) is the number that last used the store; 1 lets each admit the whole limit. Leases are shared by
   * as many too: then it must never be fewer than there are.
   */
  readonly instances?: number | 'auto';
  /** Charge the store, once it is back, with what mode `local` admitted in its place; true by default. */
  readonly payBack?: boolean;
  /** Limits of further plans, by name: which one applies says `planOf`, or each call. Equal ids share their use. */
  readonly plans?: Readonly<Record<string, Limit | readonly Limit[]>>;
  /** Name of a subject's plan; none for the policy's own limits. Called for every decision; may throw: `ERR_PLAN`. */
  readonly planOf?: (subject: string) => string | undefined;
  /** Subjects may have limits of their own: see {@link Limiter.setOverride}. Costs the server one GET a decision. */
  readonly overrides?: boolean;
  /**
   * Number that grows with every change of the limits: processes with an older one then decide by the newest
   * that has decided for a subject. Costs the server two commands a decision.
   */
  readonly revision?: number;
  /** Subjects can be blocked: by hand, and by themselves after so many refusals. Costs one command a decision. */
  readonly blocks?: true | BlockSettings;
  /**
   * How long, at most, a subject that the store has refused is refused without asking it, as long as the answer
   * must be the same: 1 ms to 60 s, 20 ms by default; `false` asks each time. Without effect over a memory store.
   */
  readonly hold?: Duration | false;
  /**
   * Fetches units ahead for subjects that are asked for again and again, and decides from those without the store:
   * all processes together then go beyond the limits by a stated number at most. Without effect over a memory store.
   */
  readonly lease?: LeaseSettings;
  /**
   * Subjects that live in several parts, each with its part of every limit and on a slot of its own of a Redis Cluster,
   * so that their load spreads over masters: never more is admitted, and a little may be refused too early. Without
   * effect over a memory store.
   */
  readonly split?: SplitSettings;
  /** Most calls of `wait` that wait at once, over all subjects: 0 to 1 000 000, 10 000 by default. */
  readonly maxWaiters?: number;
}

/** `after` refusals `within` a time shut a subject out for as long as `lasts`. */
export interface BlockSettings {
  /** 1 to 1 000 000. */
  readonly after: number;
  readonly within: Duration;
  readonly lasts: Duration;
}

/** Which plan's limits are meant. */
export interface PlanOption {
  /** Name of the plan, where the policy has plans; else what `planOf` says. */
  readonly plan?: string;
}

/** Settings of one call. */
export interface CallOptions extends PlanOption {
  /** Whole number from 0 (a look that charges nothing) to 2^53 - 1; 1 by default. */
  readonly cost?: number;
  /** Aborting ends the wait at once; the decision then follows the failure mode. */
  readonly signal?: AbortSignal;
  /** A shorter time limit for this call, in ms. */
  readonly timeoutMs?: number;
  /** The caller will not enforce it: marked so in the event `denied`. */
  readonly shadow?: boolean;
}

/** Decides for the subjects of one policy. */
export interface Limiter {
  readonly policy: string;
  readonly limits: readonly (Limit & { readonly id: string })[];
  /** How far leases may go beyond each limit, over all processes; empty without the option `lease`. */
  readonly leaseBounds: readonly LeaseBound[];
  /** Decides and charges. Throws only on misuse: `ERR_COST`, `ERR_SUBJECT`, `ERR_CLOSED`. */
  consume(subject: string, options?: CallOptions): Promise<Decision>;
  /** As {@link Limiter.consume}, but without a promise when the store answers at once. */
  decide(subject: string, options?: CallOptions): MaybePromise<Decision>;
  /**
   * As {@link Limiter.consume}, but a refused call waits for its turn, in order of coming per subject and
   * process. Refused at once when the wait cannot fit in `maxWaitMs`, when the cost can never fit, or when
   * `maxWaiters` wait already. Rejects with the signal's reason, and with `ERR_CLOSED` on close.
   */
  wait(subject: string, options?: WaitOptions): Promise<Decision>;
  /**
   * Decides, waiting for up to `maxWaitMs` (0 by default), and holds the place that a concurrency limit gave:
   * `await using lease = await limiter.acquire(subject)`.
   */
  acquire(subject: string, options?: AcquireOptions): Promise<Lease>;
  /** Holds the place of an allowed decision that was made before. */
  hold(decision: Decision): Lease;
  /** What `consume` would answer now; changes nothing. */
  peek(subject: string, options?: CallOptions): Promise<Decision>;
  /**
   * Gives back what an allowed decision charged, or `amount` of it; once per decision. True when
   * something was given back; false when the charge no longer counts, was refunded before, or the
   * store could not be reached in time.
   */
  refund(decision: Decision, amount?: number): Promise<boolean>;
  /** Charges as much of `most` as every limit has room for; the decision's cost says how much, 0 when refused. */
  consumeUpTo(subject: string, most: number, options?: CallOptions): Promise<Decision>;
  /** Decides on an estimate, to be settled with the real cost within `holdMs`. */
  reserve(subject: string, options?: ReserveOptions): Promise<Reservation>;
  /**
   * Puts the real cost in place of a reservation's, once: a smaller one gives back, a greater one is charged
   * whether there is room or not, and that debt delays later requests. Rejects only on misuse.
   */
  settle(reservation: Reservation, cost: number): Promise<Settlement>;
  /** As {@link Limiter.settle} with a cost of 0. */
  cancel(reservation: Reservation): Promise<Settlement>;
  /** Charges whether there is room or not; the limits afterwards. Rejects with a `StoreError` when the store cannot. */
  charge(subject: string, cost?: number, options?: PlanOption): Promise<readonly LimitState[]>;
  /** Gives back the newest use, whoever's it was; the limits afterwards. Rejects as {@link Limiter.charge}. */
  reward(subject: string, cost?: number, options?: PlanOption): Promise<readonly LimitState[]>;
  /** Refuses a subject for a time. Needs the option `blocks`; rejects as {@link Limiter.charge}. */
  block(subject: string, duration: Duration): Promise<void>;
  /** Lets a blocked subject in again; whether it was blocked. */
  unblock(subject: string): Promise<boolean>;
  /** Gives a subject a plan or limits of its own for a time, in all processes. Needs the option `overrides`. */
  setOverride(subject: string, override: Override, lasts: Duration): Promise<void>;
  /** Takes them away again; whether there were any. What was used stays used. */
  removeOverride(subject: string): Promise<boolean>;
  /** Forgets a subject. Rejects with a `StoreError` when the store cannot do it in time. */
  reset(subject: string): Promise<{ readonly keysRemoved: number }>;
  on<K extends keyof LimiterEvents>(name: K, listener: Listener<LimiterEvents[K]>): () => void;
  /** Ends the limiter; the store stays open when it was passed in. Later calls throw `ERR_CLOSED`. */
  close(): Promise<void>;
}

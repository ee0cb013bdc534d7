import { type Limit, type Part, TTL_MARGIN_MS } from '../algorithms/algorithm.js';
import type { Degraded } from '../core/decision.js';
import type { Waiter } from '../core/waiting.js';

/** A value, or a promise of it: memory answers at once, Redis later. */
export type MaybePromise<T> = T | Promise<T>;

/** What a store needs to know of a policy. Ids are unique inside it. */
export interface Plan {
  readonly policy: string;
  readonly limits: readonly (Limit & { readonly id: string })[];
}

/** A store's answer to one request. */
export interface StoreReply {
  /** The deciding clock, in µs since the epoch. */
  readonly atUs: number;
  /** Four numbers per limit: remaining, retryAfterMs (-1 = never), resetAfterMs, nextAfterMs. */
  readonly numbers: readonly number[];
  readonly degraded?: Degraded;
}

/** How long a refund is remembered: longer than any charge counts, so that none is given back twice. */
export function refundTtlMs({ limits }: Plan): number {
  return 2 * Math.max(...limits.map(({ windowMs }) => windowMs)) + TTL_MARGIN_MS;
}

/** A charge to give back, as the decision that made it describes it. */
export interface Charge {
  readonly subject: string;
  readonly decisionId: string;
  readonly atUs: number;
  readonly amount: number;
}

/** A store as one policy sees it. Failures reject with a {@link StoreError}; denials are replies. */
export interface PolicyStore {
  /** Decides and charges all limits, or none when one of them refuses. `cost` is at least 1. */
  consume(subject: string, cost: number, waiter?: Waiter): MaybePromise<StoreReply>;
  /** As `consume` would decide, with no write of any kind. */
  peek(subject: string, cost: number, waiter?: Waiter): MaybePromise<StoreReply>;
  /**
   * Charges each limit its own amount as far as it has room, without asking whether it admits: for what
   * was admitted elsewhere. Sum of what was charged.
   */
  force?(subject: string, amounts: readonly number[], waiter?: Waiter): MaybePromise<number>;
  /** Number of limits that got something back; 0 for a second refund of one decision. */
  refund(charge: Charge, waiter?: Waiter): MaybePromise<number>;
  /** Name of the node that a subject lives on, when nodes can fail one by one; each has a breaker of its own. */
  shardOf?(subject: string): string;
  /** Which of how many processes that use the store this one is, as far as known. */
  part?(): Part;
  /** The node of a subject does not answer: look for another in the background. */
  suspect?(subject: string): void;
  /** Forgets a subject; number of keys removed. */
  reset(subject: string, waiter?: Waiter): MaybePromise<number>;
}

/** Where state lives. */
export interface Store {
  readonly kind: 'memory' | 'redis';
  bind(plan: Plan): PolicyStore;
  /** Resolves when the store answers now, else rejects with the reason. */
  ping(): Promise<void>;
  /** Waits until the store answers, `timeoutMs` at most (1000 by default); then rejects with the reason. */
  ready(timeoutMs?: number): Promise<void>;
  /** Tells whoever made the store of something that a person should know. */
  warn?(message: string): void;
  close(): Promise<void>;
}

import { type Description, type Limit, type Part, TTL_MARGIN_MS } from '../algorithms/algorithm.js';
import type { Degraded } from '../core/decision.js';
import type { Waiter } from '../core/waiting.js';

/** A value, or a promise of it: memory answers at once, Redis later. */
export type MaybePromise<T> = T | Promise<T>;

/** What a store needs to know of a policy. Ids are unique inside it. */
export interface Plan {
  readonly policy: string;
  readonly limits: readonly (Limit & { readonly id: string })[];
  /** Subjects can be blocked. */
  readonly blocks?: Blocks;
  /** Subjects can have terms of their own: every decision then says by which it is made. */
  readonly haveTerms?: boolean;
  /**
   * It is about one part of subjects that are split into so many: with counts of its own, on a slot of its own. The
   * limits are its share already; over HTTP the whole ones travel, with this.
   */
  readonly split?: Part;
  /** Whoever binds it is not counted among the processes that use the policy: of the self-test, or for others. */
  readonly isUncounted?: true;
}

/** Blocks by hand and, where `refusals` is given, by so many refusals within `withinMs`, which block for `forMs`. */
export interface Blocks {
  readonly refusals?: number;
  readonly withinMs?: number;
  readonly forMs?: number;
}

/**
 * Texts by which a store tells whether a process decides by the terms that stand for a subject. Those of a
 * revision begin with `r`, those of one subject with `o`; empty where there are none.
 */
export interface Terms {
  readonly expected: string;
  /** Other terms that may stand, and that give way; {@link ANY_TERMS} for whatever may. */
  readonly replaced: string;
}

/** Nobody writes this text. */
export const ANY_TERMS = '*';

/** No terms stand, and none are expected. */
export const NO_TERMS: Terms = { expected: '', replaced: '' };

/** A store's answer to one request. */
export interface StoreReply {
  /** The deciding clock, in µs since the epoch. */
  readonly atUs: number;
  /** Four numbers per limit: remaining, retryAfterMs (-1 = never), resetAfterMs, nextAfterMs. */
  readonly numbers: readonly number[];
  /** The subject is blocked for so long; then there are no numbers. */
  readonly blockedMs?: number;
  /** Other terms stand than the plan's; nothing was decided. */
  readonly terms?: string;
  readonly degraded?: Degraded;
}

/** How long a refund is remembered: longer than any charge counts, so that none is given back twice. */
export function refundTtlMs({ limits }: Plan): number {
  return 2 * Math.max(...limits.map(({ windowMs }) => windowMs)) + TTL_MARGIN_MS;
}

/** How much a limit has left, and how long it takes until it is as if unused. */
export type Room = Pick<Description, 'remaining' | 'resetAfterMs'>;

/** A charge to give back, as the decision that made it describes it. */
export interface Charge {
  readonly subject: string;
  readonly decisionId: string;
  readonly atUs: number;
  readonly amount: number;
  /** Less than all of it: places that are held stay held. */
  readonly isPart?: boolean;
}

/** What can be done to a subject beside a plain decision. Costs are whole numbers of at least 1, of a settlement 0. */
export type Action =
  /** `charge`: whether there is room or not. `reward`: gives newest use back. `take`: as much as there is room for. */
  | { readonly kind: 'charge' | 'reward'; readonly subject: string; readonly cost: number }
  | { readonly kind: 'take'; readonly subject: string; readonly cost: number; readonly id: string }
  /** Decides and charges, and gives that back by itself when nobody settles it within `holdMs`. */
  | {
      readonly kind: 'reserve';
      readonly subject: string;
      readonly cost: number;
      readonly id: string;
      readonly holdMs: number;
    }
  /** Puts the real cost in place of one charged at `atUs`, if that is not older than `holdMs`. */
  | {
      readonly kind: 'settle';
      readonly subject: string;
      readonly cost: number;
      readonly id: string;
      readonly holdMs: number;
      readonly reserved: number;
      readonly atUs: number;
      /** It was charged by `reserve`. */
      readonly isNoted: boolean;
    }
  /** Shuts a subject out for `cost` ms; 0 lets it in again. */
  | { readonly kind: 'block'; readonly subject: string; readonly cost: number }
  /** Frees the places that a decision holds, or holds them for another lease. */
  | { readonly kind: 'release' | 'renew'; readonly subject: string; readonly cost: 0; readonly id: string }
  /** Gives a subject terms of its own for `cost` ms; 0 takes them away. */
  | { readonly kind: 'setTerms'; readonly subject: string; readonly cost: number; readonly terms: string };

/** The limits afterwards, for a request of cost 1 (of `reserve`: of its own cost). */
export interface ActionReply extends StoreReply {
  /**
   * `charge`, `reward`: 1. `take`: what was taken. `reserve`: 1 admitted, 0 not. `settle`: 1, 0 done before,
   * -1 too late. `release`, `renew`: how many limits did it. `block`, `setTerms`: whether there is, or was, one.
   */
  readonly word: number;
}

/** A store as one policy sees it. Failures reject with a {@link StoreError}; denials are replies. */
export interface PolicyStore {
  /** Answers at once and cannot fail: there is nothing to guard against. */
  readonly isLocal?: true;
  /** Decides and charges all limits, or none when one of them refuses. `cost` is at least 1. */
  consume(subject: string, cost: number, waiter?: Waiter, terms?: Terms, id?: string): MaybePromise<StoreReply>;
  /** As `consume` would decide, with no write of any kind. */
  peek(subject: string, cost: number, waiter?: Waiter, terms?: Terms, id?: string): MaybePromise<StoreReply>;
  /**
   * Charges each limit its own amount as far as it has room, without asking whether it admits: for what
   * was admitted elsewhere. Sum of what was charged.
   */
  force?(subject: string, amounts: readonly number[], waiter?: Waiter): MaybePromise<number>;
  /** Number of limits that got something back; 0 for a second refund of one decision. */
  refund(charge: Charge, waiter?: Waiter): MaybePromise<number>;
  /** Puts each limit of a subject into a state that describes itself so now; for stores in memory. */
  assume?(subject: string, rooms: readonly Room[]): void;
  /** Does one of the rarer things; a plain store may lack it. */
  act?(action: Action, waiter?: Waiter, terms?: Terms): MaybePromise<ActionReply>;
  /** Name of the node that a subject lives on, when nodes can fail one by one; each has a breaker of its own. */
  shardOf?(subject: string): string;
  /** Which of how many processes that use the store this one is, as far as known. */
  part?(): Part;
  /** How many processes use it, where each of them counts all the others for sure; `undefined` while one may not. */
  peers?(): number | undefined;
  /** The node of a subject does not answer: look for another in the background. */
  suspect?(subject: string): void;
  /** Forgets a subject; number of keys removed. */
  reset(subject: string, waiter?: Waiter): MaybePromise<number>;
}

/** Where state lives. */
export interface Store {
  readonly kind: 'memory' | 'redis';
  /** Stands for a process of its own where one process plays several, in tests and simulations. */
  readonly owner?: object;
  bind(plan: Plan): PolicyStore;
  /** Resolves when the store answers now, else rejects with the reason. */
  ping(): Promise<void>;
  /** Waits until the store answers, `timeoutMs` at most (1000 by default); then rejects with the reason. */
  ready(timeoutMs?: number): Promise<void>;
  /** Says that a process uses some policies; of each how many processes do, and which of them it is. */
  beat?(who: string, policies: readonly string[]): MaybePromise<readonly Part[]>;
  /** Tells whoever made the store of something that a person should know. */
  warn?(message: string): void;
  close(): Promise<void>;
}

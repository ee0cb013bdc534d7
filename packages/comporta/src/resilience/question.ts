import type { FailureMode } from '../core/decision.js';
import type { Clock } from '../core/time.js';
import type { Waiter } from '../core/waiting.js';
import type { Action, ActionReply, StoreReply, Terms } from '../stores/store.js';
import type { Reports } from './reports.js';

export interface GuardOptions {
  readonly timeoutMs: number;
  readonly mode: FailureMode;
  /** Charge the store, once it is back, with what was admitted here in its place. */
  readonly payBack: boolean;
  readonly clock: Clock;
  /** Shared by all guards of a limiter. */
  readonly reports: Reports;
  /** Shared by all guards of a limiter; left out where every question goes to the store. */
  readonly refusals?: RefusalMemory | undefined;
  /** Left out where nothing is fetched ahead. */
  readonly leases?: UnitLeases | undefined;
  /** Told of every answer of the store. */
  onAnswered(): void;
}

/** When the store was asked. */
export interface Sent {
  readonly atUs: number;
  /** Changes of subjects until then. */
  readonly turn: number;
}

/** What the store said of subjects without room, as long as only time can give them some. */
export interface RefusalMemory {
  /** What the store would answer now, where that is a refusal for sure. */
  answer(subject: string, cost: number): StoreReply | undefined;
  /** The store is about to be asked. */
  sent(): Sent;
  /** The store's answer to what was sent then. */
  heard(subject: string, cost: number, sent: Sent, reply: StoreReply): void;
  /** A subject may have more room than was said. */
  drop(subject: string): void;
}

/** Units of hot subjects that the store has granted ahead. */
export interface UnitLeases {
  /** Takes a cost of what is there, or looks whether it could; `undefined` where the store must be asked. */
  answer(operation: Question<unknown>['operation'], subject: string, cost: number): StoreReply | undefined;
  /** Asks the store for a hot subject, and for units ahead; `undefined`: the subject is not, and nothing was asked. */
  ask(
    operation: Question<unknown>['operation'],
    subject: string,
    cost: number,
    waiter: Waiter,
  ): Promise<StoreReply> | undefined;
  /** Gives up what is there; given back, except where the store has forgotten the subject. */
  drop(subject: string, isForgotten: boolean): void;
}

/** One question to the store. */
export interface Question<R> {
  readonly operation: 'consume' | 'peek';
  /** Of the decision: names who holds places. */
  readonly id: string;
  /** The terms it is decided by, where subjects have them. */
  readonly terms?: Terms | undefined;
  readonly subject: string;
  readonly cost: number;
  /** A tighter time limit than the policy's. */
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Makes the caller's answer of the store's, or of what stands in for it. */
  word(reply: StoreReply): R;
}

export type TakingAction = Extract<Action, { kind: 'reserve' | 'take' }>;

/** As a {@link Question}, for more than a plain decision. */
export interface Taking<R> {
  readonly action: TakingAction;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly terms: Terms | undefined;
  word(reply: ActionReply): R;
}

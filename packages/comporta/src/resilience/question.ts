import type { FailureMode } from '../core/decision.js';
import type { Clock } from '../core/time.js';
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
  /** Told of every answer of the store. */
  onAnswered(): void;
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

import type { Part } from '../algorithms/algorithm.js';
import { type Written, writeLimits } from '../algorithms/written.js';
import type { DegradedCause } from '../core/decision.js';
import type { Action, Blocks, Charge, Plan, Terms } from './store.js';

/** Where a store is served; the number is the version of all that is said here. */
export const STORE_PATH = '/v1/store';

/** Calls in one request. */
export const OPERATIONS_MAX = 128;
/** Longest request. */
export const BODY_MAX_BYTES: number = 8 * 2 ** 20;

/** A plan as it travels. */
export interface WirePlan {
  readonly policy: string;
  readonly limits: readonly Written[];
  readonly blocks?: Blocks;
  readonly haveTerms?: boolean;
  readonly split?: Part;
}

export function wirePlan({ policy, limits, blocks, haveTerms, split }: Plan): WirePlan {
  const gates = { ...(blocks && { blocks }), ...(haveTerms && { haveTerms }) };
  return { policy, limits: writeLimits(limits), ...gates, ...(split && { split }) };
}

/** A call as it travels; `plan` names one of the request's. */
export type WireOperation =
  | {
      readonly op: 'consume' | 'peek';
      readonly plan: string;
      readonly subject: string;
      readonly cost: number;
      readonly terms?: Terms;
      readonly id?: string;
    }
  | { readonly op: 'force'; readonly plan: string; readonly subject: string; readonly amounts: readonly number[] }
  | { readonly op: 'refund'; readonly plan: string; readonly charge: Charge }
  | { readonly op: 'act'; readonly plan: string; readonly action: Action; readonly terms?: Terms }
  | { readonly op: 'reset'; readonly plan: string; readonly subject: string }
  | { readonly op: 'beat'; readonly who: string; readonly policies: readonly string[] }
  | { readonly op: 'ping' };

/** A request: the time limit of its calls, in ms, the plans by name, and the calls. */
export interface WireRequest {
  readonly timeoutMs: number;
  readonly plans: Readonly<Record<string, WirePlan>>;
  readonly operations: readonly WireOperation[];
}

/** What a call came to: the store's answer as it is, or why there is none. */
export type WireReply =
  | { readonly value: unknown }
  | { readonly error: { readonly kind: DegradedCause; readonly message: string; readonly isUnsent?: boolean } };

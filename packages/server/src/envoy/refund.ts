import type { CallOptions, Check, Degraded, Limiter, LimitState, MaybePromise } from 'comporta';
import { StoreError } from 'comporta';
import { within } from '../time.js';
import { type Ask, costOf } from './request.js';

/** How long a decision may take. */
export interface Patience {
  /** The limiters' own when left out. */
  readonly timeoutMs?: number;
}

/** How a limiter is asked for what a descriptor charges; nothing where all is as the limiter has it. */
export function callOf(ask: Ask, { timeoutMs }: Patience): CallOptions | undefined {
  const cost = costOf(ask);
  if (timeoutMs !== undefined) return { cost, timeoutMs };
  return cost === 1 ? undefined : { cost };
}

/** What became of a refund: the limits afterwards, or why there was none. */
export type Refunded = { readonly states: readonly LimitState[] } | { readonly degraded: Degraded };

/** Gives the newest use back, whoever's it was; `undefined` where a descriptor asks for none. Never rejects. */
export function refunded(
  ask: Ask,
  { limiter, subject }: Check,
  patience: Patience,
): MaybePromise<Refunded | undefined> {
  if (!ask.isRefund || ask.cost === 0) return undefined;
  return giveBack(limiter, subject, ask.cost, patience);
}

async function giveBack(limiter: Limiter, subject: string, cost: number, { timeoutMs }: Patience): Promise<Refunded> {
  const work = limiter.reward(subject, cost);
  try {
    // Its own time limit is the limiter's, which a caller may not have.
    return { states: await (timeoutMs === undefined ? work : within(timeoutMs, work, 'the caller waits no longer')) };
  } catch (error) {
    const isOurs = error instanceof StoreError;
    return {
      degraded: { mode: 'open', cause: isOurs ? error.kind : 'timeout', detail: String(error) },
    };
  }
}

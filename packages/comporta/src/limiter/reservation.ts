import type { Decision, LimitState } from '../core/decision.js';
import { durationMs } from '../core/duration.js';
import { ComportaError, show } from '../core/errors.js';
import type { CallOptions } from './limiter.js';

/** Settings of `reserve`. */
export interface ReserveOptions extends CallOptions {
  /** How long the reservation holds: 1 ms to 24 h, 5 minutes by default. */
  readonly holdMs?: number;
  /**
   * What becomes of a reservation that nobody settles in time, as when its caller has died: `release`
   * (default) gives the estimate back, at the subject's next reservation; `keep` leaves it charged.
   */
  readonly onExpiry?: 'release' | 'keep';
}

/** A decision on an estimate, to be settled with the real cost. Plain data: it may be settled by another process. */
export interface Reservation extends Decision {
  readonly holdMs: number;
  readonly onExpiry: 'release' | 'keep';
}

/** What became of an attempt to settle. */
export interface Settlement {
  /** The real cost stands in place of the estimate. */
  readonly settled: boolean;
  /** Why not: it was settled or refunded before, its time is over, or the store could not be reached in time. */
  readonly reason: 'already-settled' | 'expired' | 'store-unavailable' | undefined;
  /** The limits afterwards; empty when unknown. `retryAfterMs` is the delay that a debt causes. */
  readonly limits: readonly LimitState[];
}

const HOLD_MAX_MS = 86_400_000;
const HOLD_MS = 300_000;

/** Throws `ERR_OPTION` or `ERR_COST` for what cannot be meant. */
export function checkReserve(options: ReserveOptions): {
  readonly call: CallOptions;
  readonly holdMs: number;
  readonly onExpiry: 'release' | 'keep';
} {
  const { holdMs: given = HOLD_MS, onExpiry = 'release', ...call } = options;
  const holdMs = durationMs(given, 'holdMs');
  if (holdMs < 1 || holdMs > HOLD_MAX_MS) {
    throw new ComportaError('ERR_OPTION', `holdMs: expected 1 to ${HOLD_MAX_MS} ms, got ${show(given)}`, 'holdMs');
  }
  if (onExpiry !== 'release' && onExpiry !== 'keep') {
    throw new ComportaError('ERR_OPTION', `onExpiry: expected release or keep, got ${show(onExpiry)}`, 'onExpiry');
  }
  if (call.cost === 0) throw new ComportaError('ERR_COST', 'cost: a reservation is of at least 1', 'cost');
  return { call, holdMs, onExpiry };
}

/** Throws `ERR_RESERVATION` unless it is one of this policy's that was granted. */
export function checkReservation(policy: string, reservation: Reservation): void {
  const { id, allowed, atUs, subject, cost, holdMs, onExpiry } = reservation ?? {};
  const isOurs = reservation?.policy === policy && typeof id === 'string' && /^[0-9a-z]{1,64}$/.test(id);
  const isWhole = [atUs, cost, holdMs].every((value) => Number.isSafeInteger(value) && (value as number) >= 0);
  if (
    !isOurs ||
    !isWhole ||
    allowed !== true ||
    typeof subject !== 'string' ||
    subject === '' ||
    onExpiry === undefined
  ) {
    throw new ComportaError(
      'ERR_RESERVATION',
      `reservation: expected one that reserve() of policy ${policy} granted`,
      'reservation',
    );
  }
}

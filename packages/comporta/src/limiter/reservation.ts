import type { Decision, FailureMode, LimitState } from '../core/decision.js';
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

/** A decision is a reservation's where its charge is noted, to be given back by itself. */
export const isReservation = (decision: Decision): decision is Reservation =>
  (decision as Partial<Reservation>).onExpiry !== undefined;

/** A decision on an estimate, to be settled with the real cost. Plain data: it may be settled by another process. */
export interface Reservation extends Decision {
  readonly holdMs: number;
  readonly onExpiry: 'release' | 'keep';
}

/** What became of an attempt to settle. */
export interface Settlement {
  /** The real cost stands in place of the estimate. */
  readonly settled: boolean;
  /**
   * Why not: it was settled or refunded before, its time is over, it was made by limits that this process does not
   * know (an override that has ended, an older revision), or the store could not be reached in time.
   */
  readonly reason: 'already-settled' | 'expired' | 'limits-unknown' | 'store-unavailable' | undefined;
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
  if (typeof options !== 'object' || options === null) {
    throw new ComportaError('ERR_OPTION', `options: expected { cost, holdMs, ... }, got ${show(options)}`, 'options');
  }
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

/** What settling needs of a reservation. */
export interface Granted extends Pick<Reservation, 'id' | 'subject' | 'cost' | 'atUs' | 'limits' | 'holdMs'> {
  readonly onExpiry: Reservation['onExpiry'];
  readonly mode: FailureMode | undefined;
}

/** Latest time that is added to without loss. */
const AT_MAX_US = Number.MAX_SAFE_INTEGER - HOLD_MAX_MS * 1000;
const MODES: readonly unknown[] = [undefined, 'local', 'open'];

/**
 * Reads a reservation once, as it may have come from anywhere. Throws `ERR_RESERVATION` unless it is one of this
 * policy's that was granted.
 */
export function checkReservation(policy: string, reservation: Reservation): Granted {
  const granted = read(reservation);
  if (granted !== undefined && granted.policy === policy && isGranted(granted)) return granted;
  const message = `reservation: expected one that reserve() of policy ${policy} granted`;
  throw new ComportaError('ERR_RESERVATION', message, 'reservation');
}

type Read = Granted & Pick<Reservation, 'policy' | 'allowed'>;

/** `undefined` for what cannot be read: an object may throw at a touch. */
function read(reservation: Reservation): Read | undefined {
  try {
    const { id, policy, allowed, subject, cost, atUs, holdMs, onExpiry, degraded } = reservation;
    if (!Array.isArray(reservation.limits)) return undefined;
    const limits = reservation.limits.map(({ ...state }: LimitState) => state);
    // What went through a database may have null for what was left out.
    return { id, policy, allowed, subject, cost, atUs, holdMs, onExpiry, limits, mode: degraded?.mode };
  } catch {
    return undefined;
  }
}

function isGranted({ id, allowed, subject, cost, atUs, holdMs, onExpiry, mode }: Read): boolean {
  const isOurs = allowed === true && typeof id === 'string' && /^[0-9a-z]{1,64}(?:\.[0-9a-z]{1,2})?$/.test(id);
  const isOfSubject = typeof subject === 'string' && subject !== '';
  const isOfKind = (onExpiry === 'release' || onExpiry === 'keep') && MODES.includes(mode);
  return (
    isOurs && isOfSubject && isOfKind && within(cost, 1) && within(atUs, 0, AT_MAX_US) && within(holdMs, 1, HOLD_MAX_MS)
  );
}

const within = (value: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;

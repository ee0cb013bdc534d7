import type { Decision, LimitState } from '../core/decision.js';
import { BREAKER_DEFAULTS } from '../resilience/breaker.js';

/** Whether a limit counts places that are given back at any time: no refusal of it names a sure time. */
export type IsHeld = (limitId: string) => boolean;

/** Whether nobody can pass before the time that a refusal names. */
export function isSure({ degraded, limits }: Decision, isHeld: IsHeld): boolean {
  return degraded === undefined && !limits.some(({ id, retryAfterMs }) => retryAfterMs !== 0 && isHeld(id));
}

/**
 * Ms until asking again can help after a refusal; `undefined` when it never can. What the store did not
 * decide is asked again as soon as its breaker lets a call through, for the store may be back and have
 * room; as often where a place may be given back, but never before the other limits have room. `unsure`
 * is the number of such refusals in a row.
 */
export function delayAfter(refusal: Decision, unsure: number, isHeld: IsHeld): number | undefined {
  const { degraded, retryAfterMs } = refusal;
  if (degraded === undefined && retryAfterMs === null) return undefined;
  if (isSure(refusal, isHeld)) return retryAfterMs as number;
  const { openMs, openMaxMs } = BREAKER_DEFAULTS;
  const pauseMs = Math.min(openMaxMs, openMs * 2 ** Math.min(unsure - 1, 20), retryAfterMs ?? openMaxMs);
  return Math.max(pauseMs, pacedMs(refusal, isHeld));
}

/** Ms, from a refusal on, until all limits in which only time makes room have some. */
export function pacedMs(refusal: Decision, isHeld: IsHeld): number {
  return Math.max(0, ...paced(refusal, isHeld).map((state) => state.retryAfterMs ?? 0));
}

/**
 * The least time, from a refusal on, in which `total` can pass: a limit never admits more than twice
 * itself within one window, nor more than itself in each further one.
 */
export function leastMs(refusal: Decision, total: number, isHeld: IsHeld): number {
  const ofLimit = ({ limit, windowMs }: LimitState) => (Math.ceil(total / limit) - 2) * windowMs;
  return Math.max(0, ...paced(refusal, isHeld).map(ofLimit));
}

/** The limits in which only time makes room; none where the store did not decide. */
function paced({ degraded, limits }: Decision, isHeld: IsHeld): readonly LimitState[] {
  return degraded === undefined ? limits.filter(({ id }) => !isHeld(id)) : [];
}

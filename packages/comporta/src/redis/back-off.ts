import { steadyMs } from '../core/time.js';

/**
 * Wait before reconnection attempt n: about 50 ms, doubling up to half a second, so that recovery is noticed
 * quickly. By chance up to half shorter, so that processes that lost a server together do not come back together.
 */
export function backOffMs(attempt: number): number {
  return Math.round(Math.min(50 * 2 ** Math.min(attempt, 5), 500) * (0.5 + Math.random() / 2));
}

/** Attempts further apart than this, longest wait and connecting included, are about different losses. */
const CALM_MS = 2000;

/**
 * As {@link backOffMs}, for a client that counts from nothing again whenever a connection was taken: what
 * takes connections and ends them at once, as a balancer without servers does, would be asked without a pause.
 */
export function steadyBackOff(nowMs: () => number = steadyMs): (attempt: number) => number {
  let [tries, lastMs] = [0, Number.NEGATIVE_INFINITY];
  return (attempt) => {
    tries = nowMs() - lastMs < CALM_MS ? tries + 1 : 0;
    lastMs = nowMs();
    return backOffMs(Math.max(attempt, tries));
  };
}

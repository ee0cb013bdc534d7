import { ComportaError } from '../core/errors.js';
import { systemClock } from '../core/time.js';
import type { Gate } from './gate.js';
import type { Report } from './report.js';

/** Longest wait for what an answer still changes: each change has a time limit of its own, far below. */
const WAIT_MAX_MS = 1000;
/** Kept back of the time that a function has left, for the answer to get out. */
const RESERVE_MS = 20;

/**
 * Waits for what the gate still has to store, for functions whose process stands still once they have
 * answered; no longer than their time allows. Never rejects; what had to be left behind is reported.
 */
export async function settleFirst(
  gate: Pick<Gate, 'settled'>,
  remainingMs: number | undefined,
  report: Report,
): Promise<void> {
  const waitMs = Math.max(0, Math.min(WAIT_MAX_MS, (remainingMs ?? Number.POSITIVE_INFINITY) - RESERVE_MS));
  const isInTime = await new Promise<boolean>((resolve) => {
    const stop = systemClock.startTimer(waitMs, () => resolve(false));
    void gate.settled().then(() => {
      stop();
      resolve(true);
    });
  });
  if (!isInTime) report(LEFT_BEHIND);
}

const LEFT_BEHIND: ComportaError = new ComportaError(
  'ERR_OPTION',
  'request: the function had to answer before the final charge was stored; it may be lost, so give the function a longer timeout',
);

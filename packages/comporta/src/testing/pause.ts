import { steadyMs, systemClock } from '../core/time.js';
import { AssertionError } from './assertion.js';

/** Real time, for what has a clock of its own: other servers, and the network. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.startTimer(ms, resolve));

const PATIENCE_MS = 5000;

/** Waits until something is so; fails when it is not within 5 s. */
export async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const startMs = steadyMs();
  while (!(await isSo())) {
    if (steadyMs() - startMs > PATIENCE_MS) throw new AssertionError(`waited in vain for ${what}`, false, true);
    await pause(5);
  }
}

import { nowMs, startTimer, stopTimer } from '../time.js';

/** Time and chance, handed in so that tests can bring their own. */
export interface AlertClock {
  nowMs(): number;
  /** Calls `run` once after `delayMs` unless the returned function is called first. */
  startTimer(delayMs: number, run: () => void): () => void;
  /** From 0 to 1. */
  random(): number;
}

export const systemClock: AlertClock = {
  nowMs,
  startTimer: (delayMs, run) => {
    const timer = startTimer(delayMs, run);
    return () => stopTimer(timer);
  },
  random: () => Math.random(),
};

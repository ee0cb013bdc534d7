/** The only file that reads a clock or sets a timer; everything else is handed a {@link Clock}. */

/** Source of time. Tests and the simulator pass their own. */
export interface Clock {
  /** Wall-clock time in whole microseconds since the Unix epoch. */
  nowUs(): number;
  /** Calls `run` once after `delayMs` (0 to 2^31 - 1) unless the returned function is called first. */
  startTimer(delayMs: number, run: () => void): () => void;
}

/** The process's own clock. Timers do keep the process alive: each guards work in flight. */
export const systemClock: Clock = {
  nowUs: () => Date.now() * 1000,
  startTimer: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Longest delay that a JavaScript timer takes; a longer one fires at once. */
export const TIMER_MAX_MS: number = 2 ** 31 - 1;

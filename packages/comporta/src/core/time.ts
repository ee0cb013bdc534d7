/** The only file that reads a clock or sets a timer; everything else is handed a {@link Clock}. */

/** Source of time. Tests and the simulator pass their own. */
export interface Clock {
  /** Wall-clock time in whole microseconds since the Unix epoch. */
  nowUs(): number;
  /** Calls `run` once after `delayMs` (0 to 2^31 - 1) unless the returned function is called first. */
  startTimer(delayMs: number, run: () => void): () => void;
}

const immediate = (globalThis as { setImmediate?: (run: () => void) => void }).setImmediate;

/** Resolves once everything has run that waits for promises only. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void (immediate ?? setTimeout)(resolve));
}

/** The process's own clock. Timers do keep the process alive: each guards work in flight. */
export const systemClock: Clock = {
  nowUs: () => Date.now() * 1000,
  startTimer: (delayMs, run) => {
    let isStopped = false;
    const timer = setTimeout(() => afterInput(() => isStopped || run()), delayMs);
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  },
};

/**
 * After a stalled event loop or a thawed process timers run before answers that have long arrived are
 * read. One more turn lets those in first, so that a stall of ours is not taken for a dead server.
 */
const afterInput: (run: () => void) => void = immediate ?? ((run) => run());

/** Longest delay that a JavaScript timer takes; a longer one fires at once. */
export const TIMER_MAX_MS: number = 2 ** 31 - 1;

/** Milliseconds with fractions that never step back, for measuring; meaningless beside a {@link Clock}. */
export function steadyMs(): number {
  return performance.now();
}

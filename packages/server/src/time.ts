/** The only file of the server that sets timers or reads a clock. */

export type Timer = NodeJS.Timeout;

/** Calls `run` once after `delayMs`; `refresh()` on the timer starts the wait anew. */
export function startTimer(delayMs: number, run: () => void): Timer {
  return setTimeout(run, delayMs);
}

export function stopTimer(timer: Timer | undefined): void {
  clearTimeout(timer);
}

/** Calls `run` every `everyMs` until the returned function is called. Does not keep the process alive. */
export function repeat(everyMs: number, run: () => void): () => void {
  const timer = setInterval(run, everyMs).unref();
  return () => clearInterval(timer);
}

/** The promise's value, or a rejection with `message` when it takes longer than `limitMs`. */
export function within<T>(limitMs: number, promise: Promise<T>, message: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = startTimer(limitMs, () => reject(new Error(message)));
    promise.then(resolve, reject).finally(() => stopTimer(timer));
  });
}

export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => void startTimer(delayMs, resolve));
}

export function nowMs(): number {
  return Date.now();
}

/** Only ever compared with itself. */
export function monotonicMs(): number {
  return performance.now();
}

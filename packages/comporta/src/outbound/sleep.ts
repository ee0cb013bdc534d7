import { onAbort } from '../core/abort.js';
import { type Clock, TIMER_MAX_MS } from '../core/time.js';

/** Resolves after that many ms, at most what one timer takes; rejects with the signal's reason. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Sleepers(clock).sleep(ms, signal);
}

/** Several that sleep by one timer and wake in the order in which they fell asleep. */
export class Sleepers {
  readonly #clock: Clock;
  readonly #wakes: Set<() => void> = new Set();
  #stop: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** As {@link sleep}; while others sleep already, until they wake. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    this.#stop ??= this.#clock.startTimer(Math.min(Math.ceil(ms), TIMER_MAX_MS), () => this.#wakeAll());
    return new Promise((resolve, reject) => {
      const wake = () => {
        forget?.();
        resolve();
      };
      const giveUp = (given: AbortSignal) => {
        this.#wakes.delete(wake);
        if (this.#wakes.size === 0) this.#end();
        reject(given.reason);
      };
      const forget = signal === undefined ? undefined : onAbort(signal, () => giveUp(signal));
      this.#wakes.add(wake);
    });
  }

  #wakeAll(): void {
    this.#end();
    const wakes = [...this.#wakes];
    this.#wakes.clear();
    for (const wake of wakes) wake();
  }

  #end(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}

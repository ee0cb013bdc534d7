import { onAbort } from '../core/abort.js';
import type { Clock } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';

/** When to stop waiting, and what to make of either outcome. */
export interface Race<T, R> {
  readonly waiter: Waiter;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  /** The work itself has ended, in time or late. */
  onSettled(): void;
  onValue(value: T): R;
  /** Given the failure of the work, or a {@link StoreError} of kind `timeout` or `aborted`. */
  onError(error: unknown): R;
}

/**
 * Settles within the time limit, whatever `work` does. The waiter is over from then on: a later
 * result of `work` is dropped, a later failure silenced, and the store sends nothing more for it.
 * One promise for everything: on the request path each further one would cost a tick.
 */
export function withDeadline<T, R>(work: Promise<T>, race: Race<T, R>): Promise<R> {
  return new Promise<R>((resolve, reject) => new Running(race, resolve, reject).begin(work));
}

/** A race that is on. An object, since each function that shares variables with others costs as much as this. */
class Running<T, R> {
  readonly #race: Race<T, R>;
  readonly #resolve: (outcome: R) => void;
  readonly #reject: (error: unknown) => void;
  #stopTimer: (() => void) | undefined;
  #forget: (() => void) | undefined;

  constructor(race: Race<T, R>, resolve: (outcome: R) => void, reject: (error: unknown) => void) {
    this.#race = race;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(work: Promise<T>): void {
    const { timeoutMs, signal, clock } = this.#race;
    this.#stopTimer = clock.startTimer(timeoutMs, () => this.#fail('timeout', `no answer within ${timeoutMs} ms`));
    if (signal !== undefined) this.#forget = onAbort(signal, () => this.#fail('aborted', 'the caller aborted'));
    work.then(
      (value) => {
        this.#race.onSettled();
        this.#settle(true, value);
      },
      (error) => {
        this.#race.onSettled();
        this.#settle(false, error);
      },
    );
  }

  #fail(kind: 'aborted' | 'timeout', message: string): void {
    this.#settle(false, new StoreError(kind, message, { isUnsent: this.#race.waiter.isHeld === true }));
  }

  #settle(isValue: boolean, outcome: unknown): void {
    const race = this.#race;
    const { waiter } = race;
    if (waiter.isOver) return;
    waiter.isOver = true;
    waiter.onOver?.();
    this.#stopTimer?.();
    this.#forget?.();
    try {
      this.#resolve(isValue ? race.onValue(outcome as T) : race.onError(outcome));
    } catch (error) {
      this.#reject(error);
    }
  }
}

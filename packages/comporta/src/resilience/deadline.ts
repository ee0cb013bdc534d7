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
  return new Promise<R>((resolve, reject) => {
    const { waiter, timeoutMs, signal, clock } = race;
    const settle = (isValue: boolean, outcome: unknown) => {
      if (waiter.isOver) return;
      waiter.isOver = true;
      waiter.onOver?.();
      stopTimer();
      forget?.();
      try {
        resolve(isValue ? race.onValue(outcome as T) : race.onError(outcome));
      } catch (error) {
        reject(error);
      }
    };
    const fail = (kind: 'aborted' | 'timeout', message: string) =>
      settle(false, new StoreError(kind, message, { isUnsent: waiter.isHeld === true }));
    const stopTimer = clock.startTimer(timeoutMs, () => fail('timeout', `no answer within ${timeoutMs} ms`));
    const abort = () => fail('aborted', 'the caller aborted');
    const forget = signal === undefined ? undefined : onAbort(signal, abort);
    work.then(
      (value) => {
        race.onSettled();
        settle(true, value);
      },
      (error) => {
        race.onSettled();
        settle(false, error);
      },
    );
  });
}

import type { Clock } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';

/**
 * Settles within `timeoutMs`, whatever `work` does: with its result, or with a {@link StoreError}
 * of kind `timeout` or `aborted`. Either way the waiter is over then: a later result of `work` is
 * dropped, a later failure silenced, and the store sends nothing more for it.
 */
export function withDeadline<T>(
  work: Promise<T>,
  waiter: Waiter,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  clock: Clock,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => finish(() => reject(new StoreError('aborted', 'the caller aborted')));
    const stopTimer = clock.startTimer(timeoutMs, () =>
      finish(() => reject(new StoreError('timeout', `no answer within ${timeoutMs} ms`))),
    );
    const finish = (settle: () => void) => {
      waiter.isOver = true;
      stopTimer();
      signal?.removeEventListener('abort', abort);
      settle();
    };
    signal?.addEventListener('abort', abort, { once: true });
    work.then(
      (value) => finish(() => resolve(value)),
      (error) => finish(() => reject(error)),
    );
  });
}

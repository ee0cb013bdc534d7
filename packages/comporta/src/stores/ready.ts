import { type Clock, TIMER_MAX_MS } from '../core/time.js';
import { StoreError } from '../core/waiting.js';

/** How long `ready` waits by default. */
export const READY_MS = 1000;
const EVERY_MS = 10;

/** Asks again and again until the server answers or the time is over; then rejects with the last reason. */
export function untilAnswered(ask: () => Promise<void>, timeoutMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let reason: unknown = new StoreError('timeout', `no answer within ${timeoutMs} ms`);
    const stopTimer = clock.startTimer(Math.min(timeoutMs, TIMER_MAX_MS), () => {
      isOver = true;
      reject(reason);
    });
    const again = (): void => {
      if (isOver) return;
      ask().then(
        () => {
          stopTimer();
          resolve();
        },
        (error) => {
          reason = error;
          clock.startTimer(EVERY_MS, again);
        },
      );
    };
    again();
  });
}

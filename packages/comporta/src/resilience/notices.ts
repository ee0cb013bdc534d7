import type { Degraded } from '../core/decision.js';
import type { Clock } from '../core/time.js';

/** Shorter outages are not worth a line: a process that is just connecting, one slow answer. */
const QUIET_MS = 1000;

/** Says once that a store is away, and once that it is back, for applications that listen to no events. */
export class Notices {
  readonly #clock: Clock;
  readonly #say: (message: string) => void;
  #sinceMs: number | undefined;
  #lastMs = 0;
  #isTold = false;

  constructor(clock: Clock, say: (message: string) => void) {
    this.#clock = clock;
    this.#say = say;
  }

  failed(policy: string, { mode, cause, detail }: Degraded): void {
    const nowMs = this.#clock.nowUs() / 1000;
    // Failures far apart are no outage.
    if (nowMs - this.#lastMs > QUIET_MS) this.#sinceMs = nowMs;
    this.#lastMs = nowMs;
    this.#sinceMs ??= nowMs;
    if (this.#isTold || nowMs - this.#sinceMs < QUIET_MS) return;
    this.#isTold = true;
    this.#say(`the store does not answer: mode ${mode} decides for policy ${policy} (${cause}: ${detail})`);
  }

  recovered(): void {
    if (this.#isTold) this.#say('the store answers again');
    this.#isTold = false;
    this.#sinceMs = undefined;
  }
}

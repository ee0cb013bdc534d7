import type { Decision } from '../core/decision.js';
import type { Emitter, LimiterEvents } from '../core/events.js';
import type { Clock } from '../core/time.js';

const PER_SECOND_MAX = 10;

/** Tells of refusals, but never floods the listeners: an attack must not become one on the log. */
export class Denials {
  readonly #events: Emitter<LimiterEvents>;
  readonly #clock: Clock;
  #sinceUs = 0;
  #told = 0;
  #leftOut = 0;

  constructor(events: Emitter<LimiterEvents>, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  /** Costs one look-up while nobody listens. */
  tell(decision: Decision, shadow = false): void {
    if (!this.#events.has('denied')) return;
    const nowUs = this.#clock.nowUs();
    if (Math.abs(nowUs - this.#sinceUs) >= 1_000_000) {
      this.#sinceUs = nowUs;
      this.#told = 0;
    }
    if (this.#told >= PER_SECOND_MAX) {
      this.#leftOut++;
      return;
    }
    this.#told++;
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    this.#events.emit('denied', { policy: decision.policy, decision, shadow, leftOut });
  }
}

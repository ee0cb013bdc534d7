import type { Decision } from '../core/decision.js';
import type { Emitter, LimiterEvents } from '../core/events.js';
import { type Clock, steadyMs } from '../core/time.js';
import { Denials } from './denials.js';

/** Tells the listeners of a limiter what it decided. While nobody listens each decision costs one look-up. */
export class Told {
  readonly #events: Emitter<LimiterEvents>;
  readonly #denials: Denials;
  readonly #store: string;

  constructor(events: Emitter<LimiterEvents>, clock: Clock, store: string) {
    this.#events = events;
    this.#denials = new Denials(events, clock);
    this.#store = store;
  }

  /** When a decision begins, where somebody measures. */
  start(): number | undefined {
    return !this.#events.isSilent && this.#events.has('decision') ? steadyMs() : undefined;
  }

  /** Of a decision that began then. */
  tell(decision: Decision, shadow: boolean | undefined, startedMs: number | undefined): void {
    if (!this.#events.isSilent) this.#tell(decision, shadow, startedMs);
  }

  #tell(decision: Decision, shadow: boolean | undefined, startedMs: number | undefined): void {
    if (!decision.allowed) this.#denials.tell(decision, shadow);
    if (startedMs !== undefined) this.#emit(decision, shadow === true, steadyMs() - startedMs);
  }

  /** Of a decision that came after a wait: it took as long as its turn did. */
  tellOfTurn(decision: Decision): void {
    if (!decision.allowed) this.#denials.tell(decision);
    if (this.#events.has('decision')) this.#emit(decision, false, undefined);
  }

  #emit(decision: Decision, shadow: boolean, durationMs: number | undefined): void {
    this.#events.emit('decision', { policy: decision.policy, decision, shadow, store: this.#store, durationMs });
  }
}

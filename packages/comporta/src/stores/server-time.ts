import { argumentsAt, type Limit } from '../algorithms/algorithm.js';
import type { Clock } from '../core/time.js';

/** What the server's clock shows, as far as its answers have told: this process's own may be off by any time. */
export class ServerTime {
  readonly #clock: Clock;
  #aheadUs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Never ahead of the server, whose answers take their time. */
  nowMs(): number {
    return Math.floor((this.#clock.nowUs() + this.#aheadUs) / 1000);
  }

  /** The server answered just now that its time was `atUs`. */
  learn(atUs: number): void {
    this.#aheadUs = atUs - this.#clock.nowUs();
  }
}

/** The arguments of several limits as they are sent, made anew only when they change. */
export class SentArguments {
  readonly #limits: readonly Limit[];
  #args: readonly (readonly number[])[];
  #texts: readonly string[];
  /** Whether they change with time. */
  readonly areTimed: boolean;

  constructor(limits: readonly Limit[]) {
    this.#limits = limits;
    this.#args = limits.map(({ args }) => args);
    this.#texts = textsOf(this.#args);
    this.areTimed = limits.some(({ argsAt }) => argsAt !== undefined);
  }

  /** Those of limits that never change. */
  get always(): readonly string[] {
    return this.#texts;
  }

  at(nowMs: number): readonly string[] {
    if (this.#limits.some((limit, i) => argumentsAt(limit, nowMs) !== this.#args[i])) {
      this.#args = this.#limits.map((limit) => argumentsAt(limit, nowMs));
      this.#texts = textsOf(this.#args);
    }
    return this.#texts;
  }
}

const textsOf = (args: readonly (readonly number[])[]): readonly string[] => args.flatMap((list) => list.map(String));

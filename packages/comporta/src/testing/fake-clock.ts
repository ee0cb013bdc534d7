import { type Clock, nextTurn, TIMER_MAX_MS } from '../core/time.js';

interface Timer {
  readonly dueUs: number;
  readonly run: () => void;
}

/** Where fake clocks begin: a time of 16 digits in µs, as servers have. */
export const START_US = 1_796_000_000_123_457;

/** A clock that stands still until it is moved. Its timers run while it moves, in the order in which they are due. */
export class FakeClock implements Clock {
  #nowUs: number;
  readonly #timers: Set<Timer> = new Set();

  /** `startUs`: whole microseconds since the Unix epoch; some time in November 2026 by default. */
  constructor(startUs: number = START_US) {
    this.#nowUs = startUs;
  }

  nowUs(): number {
    return this.#nowUs;
  }

  /** Throws a `RangeError` for a delay that a real timer would not keep. */
  startTimer(delayMs: number, run: () => void): () => void {
    if (!(delayMs >= 0 && delayMs <= TIMER_MAX_MS)) throw new RangeError(`a timer of ${delayMs} ms`);
    const timer: Timer = { dueUs: this.#nowUs + delayMs * 1000, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Timers that were neither stopped nor run: 0 when nothing is in flight. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Moves the clock at once. What waits for promises runs afterwards. */
  advance(ms: number): void {
    const targetUs = this.#nowUs + ms * 1000;
    for (let timer = this.#nextUntil(targetUs); timer !== undefined; timer = this.#nextUntil(targetUs)) {
      this.#timers.delete(timer);
      this.#nowUs = Math.max(this.#nowUs, timer.dueUs);
      timer.run();
    }
    this.#nowUs = targetUs;
  }

  /** As {@link FakeClock.advance}, but what waits for promises runs after every timer, before the next. */
  async pass(ms: number): Promise<void> {
    const targetUs = this.#nowUs + ms * 1000;
    await nextTurn();
    for (let timer = this.#nextUntil(targetUs); timer !== undefined; timer = this.#nextUntil(targetUs)) {
      this.advance((Math.max(this.#nowUs, timer.dueUs) - this.#nowUs) / 1000);
      await nextTurn();
    }
    this.advance((targetUs - this.#nowUs) / 1000);
  }

  /** The first timer in time and, at one time, in order of starting. */
  #nextUntil(targetUs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueUs <= targetUs && (next === undefined || timer.dueUs < next.dueUs)) next = timer;
    }
    return next;
  }
}

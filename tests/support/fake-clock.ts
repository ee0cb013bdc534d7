import type { Clock } from 'comporta';
import { START_US } from './arbitraries.js';

interface Timer {
  readonly dueUs: number;
  readonly run: () => void;
}

/** Longest delay that a real timer takes; a longer one would fire at once. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/** A clock that stands still until it is moved. Its timers run while it moves, in the order in which they are due. */
export class FakeClock implements Clock {
  #nowUs: number;
  readonly #timers: Set<Timer> = new Set();

  constructor(startUs: number = START_US) {
    this.#nowUs = startUs;
  }

  nowUs(): number {
    return this.#nowUs;
  }

  startTimer(delayMs: number, run: () => void): () => void {
    if (!(delayMs >= 0 && delayMs <= DELAY_MAX_MS)) throw new RangeError(`a timer of ${delayMs} ms`);
    const timer: Timer = { dueUs: this.#nowUs + delayMs * 1000, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Timers that were neither stopped nor run. */
  get timers(): number {
    return this.#timers.size;
  }

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
    await flush();
    for (let timer = this.#nextUntil(targetUs); timer !== undefined; timer = this.#nextUntil(targetUs)) {
      this.advance((Math.max(this.#nowUs, timer.dueUs) - this.#nowUs) / 1000);
      await flush();
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

/** Lets everything run that waits for promises only. */
export async function flush(): Promise<void> {
  await new Promise<void>((resolve) => void setImmediate(resolve));
}

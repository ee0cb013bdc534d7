import { type Clock, nextTurn, TIMER_MAX_MS } from '../../packages/comporta/src/core/time.js';
import { chanceOf } from './chance.js';

/** Time goes in steps: what falls into one step of a process falls into one turn of its event loop. */
const STEP_US = 20;
/** Where time begins: 16 digits in µs, as servers have, on a whole step. */
const START_US = 1_796_000_000_000_000;

interface Planned {
  run: (() => void) | undefined;
}

/**
 * The time of all processes and servers: runs what is planned in its order, and between two steps everything that
 * waits for promises or for the end of a turn. Steps in which nothing happens cost nothing.
 */
export class EventLoop implements Clock {
  #step: number = START_US / STEP_US;
  readonly #planned: Map<number, Planned[]> = new Map();
  readonly #steps: StepHeap = new StepHeap();

  nowUs(): number {
    return this.#step * STEP_US;
  }

  /** Since the beginning. */
  get seconds(): number {
    return (this.nowUs() - START_US) / 1e6;
  }

  /** As {@link Clock.startTimer}; throws for a delay that a real timer would not keep. */
  startTimer(delayMs: number, run: () => void): () => void {
    if (!(delayMs >= 0 && delayMs <= TIMER_MAX_MS)) throw new RangeError(`a timer of ${delayMs} ms`);
    const planned = this.at(this.nowUs() + delayMs * 1000, run);
    return () => {
      planned.run = undefined;
    };
  }

  /** Never before the step that has begun. */
  at(us: number, run: () => void): Planned {
    const step = Math.max(this.#step, Math.ceil(us / STEP_US));
    const planned: Planned = { run };
    const together = this.#planned.get(step);
    if (together !== undefined) {
      together.push(planned);
      return planned;
    }
    this.#planned.set(step, [planned]);
    this.#steps.push(step);
    return planned;
  }

  afterSeconds(seconds: number, run: () => void): void {
    this.at(this.nowUs() + seconds * 1e6, run);
  }

  /** Lets so much time pass. */
  async pass(seconds: number): Promise<void> {
    const end = Math.round(this.#step + (seconds * 1e6) / STEP_US);
    for (let step = this.#steps.least; step !== undefined && step <= end; step = this.#steps.least) {
      this.#step = step;
      const together = this.#planned.get(step) ?? [];
      // Not yet taken away: what these plan for this step joins them.
      for (let i = 0; i < together.length; i++) together[i]?.run?.();
      this.#planned.delete(step);
      this.#steps.pop();
      // The first lets promises run, which may ask for the end of their turn; that comes before the second.
      await nextTurn();
      await nextTurn();
    }
    this.#step = end;
  }
}

/** Plays `run` in a time of its own: chance is drawn from the seed, and who measures time measures that of `loop`. */
export async function inOwnTime<T>(seed: number, run: (loop: EventLoop) => Promise<T>): Promise<T> {
  const loop = new EventLoop();
  const { random } = Math;
  Math.random = chanceOf(seed);
  performance.now = () => (loop.nowUs() - START_US) / 1000;
  try {
    return await run(loop);
  } finally {
    Math.random = random;
    // Its own property hid the one that all performance objects have.
    Reflect.deleteProperty(performance, 'now');
  }
}

/** The least of some numbers first. */
class StepHeap {
  readonly #items: number[] = [];

  get least(): number | undefined {
    return this.#items[0];
  }

  push(step: number): void {
    const items = this.#items;
    let at = items.length;
    items.push(step);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] as number;
      if (above <= step) break;
      items[at] = above;
      at = parent;
    }
    items[at] = step;
  }

  pop(): void {
    const items = this.#items;
    const last = items.pop() as number;
    if (items.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && (items[child + 1] as number) < (items[child] as number)) child++;
      if ((items[child] as number) >= last) break;
      items[at] = items[child] as number;
      at = child;
    }
    items[at] = last;
  }
}

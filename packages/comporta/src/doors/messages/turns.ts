import type { MaybePromise } from '../../stores/store.js';

/** What is done in its turn. */
export type Turn = () => MaybePromise<void>;

/** Runs what it is given one after the other, in order of coming: at once while nothing is under way. */
export class Turns {
  readonly #waiting: Turn[] = [];
  readonly #onBusy: (isBusy: boolean) => void;
  #isBusy = false;

  /** `onBusy` is told when something is under way that others must wait for, and when nothing is any more. */
  constructor(onBusy: (isBusy: boolean) => void) {
    this.#onBusy = onBusy;
  }

  /** How many wait for their turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  run(turn: Turn): void {
    if (this.#isBusy) {
      this.#waiting.push(turn);
      return;
    }
    const done = turn();
    if (!(done instanceof Promise)) return;
    this.#isBusy = true;
    this.#onBusy(true);
    void this.#goOn(done);
  }

  async #goOn(first: Promise<void>): Promise<void> {
    await first.catch(throwAlone);
    for (let turn = this.#waiting.shift(); turn !== undefined; turn = this.#waiting.shift()) {
      try {
        await turn();
      } catch (error) {
        throwAlone(error);
      }
    }
    this.#isBusy = false;
    this.#onBusy(false);
  }
}

/** A fault of the application's own listener is seen as any other that nobody catches, and holds up no turn. */
function throwAlone(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

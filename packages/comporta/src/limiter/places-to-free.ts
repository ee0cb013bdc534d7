import type { Clock } from '../core/time.js';
import type { Guard } from '../resilience/guard.js';

/** Most places that are tried again; further ones are free when their leases end. */
const PLACES_MAX = 10_000;
/** Pauses between the tries, in ms: a node that was away answers again within them, or its leases have to end. */
const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15_000];

/** Frees places in the store, again and again where it does not answer. Keeps the process alive meanwhile. */
export class PlacesToFree {
  readonly #clock: Clock;
  readonly #stops: Set<() => void> = new Set();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after the first try; never rejects. */
  async free(guard: Guard, subject: string, id: string, tries = 0): Promise<void> {
    try {
      await guard.act({ kind: 'release', subject, cost: 0, id });
    } catch {
      this.#later(PAUSES_MS[tries], () => void this.free(guard, subject, id, tries + 1));
    }
  }

  /** Tries no more. */
  close(): void {
    this.#isClosed = true;
    for (const stop of this.#stops) stop();
    this.#stops.clear();
  }

  #later(pauseMs: number | undefined, run: () => void): void {
    if (pauseMs === undefined || this.#isClosed || this.#stops.size >= PLACES_MAX) return;
    const stop = this.#clock.startTimer(pauseMs * (0.75 + 0.5 * Math.random()), () => {
      this.#stops.delete(stop);
      run();
    });
    this.#stops.add(stop);
  }
}

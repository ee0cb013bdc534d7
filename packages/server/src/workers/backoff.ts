const RECENT_MS = 60_000;
const STEP_MS = 100;
const LONGEST_MS = 30_000;
/** Workers that ended before they were ready, one after the other, after which it is not an accident. */
const FAILURES_MAX = 5;

/** How long to wait before the place of a worker that ended is filled. Pure: time is an argument. */
export class Backoff {
  #deaths: readonly number[] = [];
  #failures = 0;

  /** Workers end before they are ready, again and again. */
  get isHopeless(): boolean {
    return this.#failures >= FAILURES_MAX;
  }

  ready(): void {
    this.#failures = 0;
  }

  /** At once for the first within a minute, then twice as long each time. */
  died(wasReady: boolean, nowMs: number): number {
    if (!wasReady) this.#failures++;
    this.#deaths = [...this.#deaths.filter((atMs) => nowMs - atMs < RECENT_MS), nowMs].slice(-32);
    if (this.isHopeless) return LONGEST_MS;
    const before = this.#deaths.length - 1;
    return before === 0 ? 0 : Math.min(LONGEST_MS, STEP_MS * 2 ** (before - 1));
  }
}

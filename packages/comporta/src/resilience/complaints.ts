/** Distinct complaints that are remembered; further ones wait until the oldest may be told again. */
const DISTINCT_MAX = 32;
const EVERY_MS = 60_000;
/** Longer ones are compared by their beginning. */
const COMPARED_CHARS = 200;

/** Which complaints of a store are worth telling: each distinct one once a minute. Pure but for its own state. */
export class Complaints {
  /** When each was told last, the oldest first. */
  readonly #toldAtMs: Map<string, number> = new Map();

  isNews(detail: string, nowMs: number): boolean {
    const text = detail.slice(0, COMPARED_CHARS);
    if (isRecent(this.#toldAtMs.get(text), nowMs)) return false;
    const [oldest] = this.#toldAtMs;
    if (this.#toldAtMs.size >= DISTINCT_MAX && oldest !== undefined) {
      if (isRecent(oldest[1], nowMs)) return false;
      this.#toldAtMs.delete(oldest[0]);
    }
    this.#toldAtMs.delete(text);
    this.#toldAtMs.set(text, nowMs);
    return true;
  }
}

/** A clock that stepped back is no reason for silence. */
function isRecent(atMs: number | undefined, nowMs: number): boolean {
  return atMs !== undefined && Math.abs(nowMs - atMs) < EVERY_MS;
}

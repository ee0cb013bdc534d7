/** What all workers see they say at about the same time. */
const TOGETHER_MS = 2000;
const KEPT_MAX = 1000;

interface Saying {
  readonly atMs: number;
  readonly workers: Set<number>;
}

/** Lets what several workers say within two seconds pass once, and what one worker repeats each time. */
export class Once {
  readonly #sayings: Map<string, Saying> = new Map();

  isNew(worker: number, text: string, nowMs: number): boolean {
    const known = this.#sayings.get(text);
    const isEcho = known !== undefined && nowMs - known.atMs < TOGETHER_MS && !known.workers.has(worker);
    if (isEcho) {
      known.workers.add(worker);
      return false;
    }
    this.#sayings.delete(text);
    if (this.#sayings.size >= KEPT_MAX) this.#sayings.delete(this.#sayings.keys().next().value as string);
    this.#sayings.set(text, { atMs: nowMs, workers: new Set([worker]) });
    return true;
  }
}

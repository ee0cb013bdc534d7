import { keyOf } from '../alerts/alert.js';
import type { Findings } from '../alerts/rules.js';

/** A fact that is told again keeps its alert from ending by itself, which takes a minute. */
const AGAIN_MS = 10_000;

/** Keeps back what a worker has told of its store already: a failure is found in every request. */
export class AlertFeed {
  readonly #toldMs: Map<string, number> = new Map();

  /** What is to be told; `undefined` when there is nothing. */
  news({ raise, clear }: Findings, nowMs: number): Findings | undefined {
    const ended = clear.filter((key) => this.#toldMs.delete(key));
    const key = raise && keyOf(raise.kind, raise.target);
    const isNew = key !== undefined && nowMs - (this.#toldMs.get(key) ?? Number.NEGATIVE_INFINITY) >= AGAIN_MS;
    if (isNew) this.#toldMs.set(key, nowMs);
    return isNew || ended.length > 0 ? { raise: isNew ? raise : undefined, clear: ended } : undefined;
  }
}

/** Which workers say that a fact holds: it is over when none does. */
export class Holders {
  readonly #workers: Map<string, Set<number>> = new Map();

  /** What a worker told, less the ends of what others still see. */
  told(worker: number, { raise, clear }: Findings): Findings {
    if (raise !== undefined) {
      const key = keyOf(raise.kind, raise.target);
      this.#workers.set(key, (this.#workers.get(key) ?? new Set()).add(worker));
    }
    return { raise, clear: clear.filter((key) => this.#isOver(key, worker)) };
  }

  /** A worker has ended: what it alone saw nobody sees. */
  left(worker: number): Findings {
    const held = [...this.#workers].filter(([, workers]) => workers.has(worker)).map(([key]) => key);
    return { raise: undefined, clear: held.filter((key) => this.#isOver(key, worker)) };
  }

  #isOver(key: string, worker: number): boolean {
    const workers = this.#workers.get(key);
    workers?.delete(worker);
    if (workers !== undefined && workers.size > 0) return false;
    this.#workers.delete(key);
    return true;
  }
}

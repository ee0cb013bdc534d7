import type { Degraded, FailureMode } from '../core/decision.js';
import type { Observer } from './meter.js';

/** A fallback is active for so long after the last decision that it made. */
const ACTIVE_MS = 30_000;
const MODES: readonly FailureMode[] = ['local', 'open', 'closed'];

/** When each failure mode last decided in the store's place. */
export class Fallbacks {
  readonly #lastMs: Map<FailureMode, number> = new Map();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** A caller that gave up says nothing about the store. */
  decided({ mode, cause }: Degraded): void {
    if (cause !== 'aborted') this.#lastMs.set(mode, this.#nowMs());
  }

  observe(observer: Observer): void {
    const nowMs = this.#nowMs();
    for (const mode of MODES) {
      const lastMs = this.#lastMs.get(mode) ?? Number.NEGATIVE_INFINITY;
      observer.observe(nowMs - lastMs <= ACTIVE_MS ? 1 : 0, { 'comporta.mode': mode });
    }
  }
}

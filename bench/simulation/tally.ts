import type { Decision } from '../../packages/comporta/src/core/decision.js';

/** Who decided: the store, what it had said before, or the failure mode in its place. */
export type Place = 'store' | 'hold' | 'lease' | 'local' | 'open' | 'closed';

/** Each bin of times is so many times as long as the one before. */
const BIN = 1.02;
const BINS = 1200;

/** What became of some decisions. */
export class Tally {
  decisions = 0;
  admitted = 0;
  readonly places: Record<Place, number> = { store: 0, hold: 0, lease: 0, local: 0, open: 0, closed: 0 };
  /** Decisions that the failure mode made, by cause. */
  readonly causes: Map<string, number> = new Map();
  longestMs = 0;
  readonly #bins: Uint32Array = new Uint32Array(BINS);

  /** `isAtOnce`: no promise was needed. */
  note({ allowed, degraded }: Decision, tookUs: number, isAtOnce: boolean): Place {
    this.decisions++;
    if (allowed) this.admitted++;
    const place = degraded?.mode ?? (isAtOnce ? (allowed ? 'lease' : 'hold') : 'store');
    this.places[place]++;
    if (degraded !== undefined) this.causes.set(degraded.cause, (this.causes.get(degraded.cause) ?? 0) + 1);
    this.longestMs = Math.max(this.longestMs, tookUs / 1000);
    const bin = Math.min(BINS - 1, Math.ceil(Math.log(1 + tookUs) / Math.log(BIN)));
    this.#bins[bin] = (this.#bins[bin] as number) + 1;
    return place;
  }

  get degraded(): number {
    return this.places.local + this.places.open + this.places.closed;
  }

  /** The time within which this part of the decisions was made, in ms. */
  quantileMs(part: number): number {
    let left = this.decisions * part;
    const bin = this.#bins.findIndex((count) => {
      left -= count;
      return left <= 0;
    });
    return Math.min(this.longestMs, (BIN ** Math.max(0, bin) - 1) / 1000);
  }
}

import { monotonicUs } from './monotonic.js';

export interface Stall {
  readonly fromUs: number;
  readonly toUs: number;
}

const EVERY_MS = 5;
const STALLED_MS = 15;

/**
 * Notes when this process could not run, so that a late answer can be told from a late process: on a
 * busy machine a time limit may end unheard although the answer is in the socket.
 */
export class LoopWatch {
  readonly stalls: Stall[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #stalledUs: number;
  #atUs: number = monotonicUs();

  /** A turn of the event loop that comes later than `stalledMs` after the last counts as a standstill. */
  constructor(everyMs: number = EVERY_MS, stalledMs: number = STALLED_MS) {
    this.#stalledUs = stalledMs * 1000;
    this.#timer = setInterval(() => this.note(), everyMs);
    this.#timer.unref();
  }

  stop(): readonly Stall[] {
    this.note();
    clearInterval(this.#timer);
    return this.stalls;
  }

  /** Brings the notes up to this moment. */
  note(): void {
    const nowUs = monotonicUs();
    if (nowUs - this.#atUs > this.#stalledUs) this.stalls.push({ fromUs: this.#atUs, toUs: nowUs });
    this.#atUs = nowUs;
  }
}

/** How long the process stood still between two moments, in ms. */
export function stalledMs(stalls: readonly Stall[], fromUs: number, toUs: number): number {
  const overlaps = stalls.map((stall) => Math.min(stall.toUs, toUs) - Math.max(stall.fromUs, fromUs));
  return overlaps.reduce((sum, us) => sum + Math.max(0, us), 0) / 1000;
}

export const longestMs = (stalls: readonly Stall[]): number =>
  Math.max(0, ...stalls.map(({ fromUs, toUs }) => toUs - fromUs)) / 1000;

import { isComportaError } from '../core/errors.js';
import type { Clock } from '../core/time.js';
import type { Limiter } from '../limiter/limiter.js';
import { Sleepers } from './sleep.js';

/** Subjects that are remembered as paused, and requests that wait for the end of a pause. */
const SUBJECTS_MAX = 10_000;
const SLEEPERS_MAX = 10_000;

/** The end of a pause is put off by up to this part of it, so that processes do not come back together. */
const JITTER_RATIO = 0.1;
const JITTER_MAX_MS = 1000;

interface Pause {
  readonly untilMs: number;
  readonly ms: number;
  readonly sleepers: Sleepers;
}

/**
 * Keeps the requests of a subject back for a time, whatever the store does. The other processes that share
 * it see the subject blocked, or, where the limiter blocks nobody, its limits used up as far as that fits.
 */
export class Pauses {
  readonly #limiter: Limiter;
  readonly #clock: Clock;
  readonly #pauses: Map<string, Pause> = new Map();
  readonly #listeners: Map<string, Set<() => void>> = new Map();
  #sleepers = 0;
  /** Until it turns out that the limiter has no option `blocks`. */
  #mayBlock = true;

  constructor(limiter: Limiter, clock: Clock) {
    this.#limiter = limiter;
    this.#clock = clock;
  }

  /** Starts a pause, or makes one longer. Ms that it takes, spread included. */
  start(subject: string, pauseMs: number): number {
    const leftMs = this.leftMs(subject);
    if (pauseMs <= leftMs) return leftMs;
    const ms = pauseMs + Math.random() * Math.min(pauseMs * JITTER_RATIO, JITTER_MAX_MS);
    const sleepers = this.#pauses.get(subject)?.sleepers ?? new Sleepers(this.#clock);
    this.#pauses.delete(subject);
    if (this.#pauses.size >= SUBJECTS_MAX) this.#makeRoom();
    this.#pauses.set(subject, { untilMs: this.#nowMs() + ms, ms, sleepers });
    for (const run of [...(this.#listeners.get(subject) ?? [])]) run();
    // What the others learn late costs each of them one refused request; nothing here waits for it.
    this.#share(subject, Math.ceil(ms)).catch(() => undefined);
    return ms;
  }

  /** Ms until a subject's pause ends; 0 without one. */
  leftMs(subject: string): number {
    const pause = this.#pauses.get(subject);
    if (pause === undefined) return 0;
    const leftMs = pause.untilMs - this.#nowMs();
    // More left than there ever was: the clock stepped back.
    if (leftMs > 0) return Math.min(leftMs, pause.ms);
    this.#pauses.delete(subject);
    return 0;
  }

  /** Calls `run` when a pause of the subject starts or grows longer, unless the returned function is called first. */
  onStart(subject: string, run: () => void): () => void {
    const runs = this.#listeners.get(subject) ?? new Set();
    this.#listeners.set(subject, runs.add(run));
    return () => {
      runs.delete(run);
      if (runs.size === 0 && this.#listeners.get(subject) === runs) this.#listeners.delete(subject);
    };
  }

  /** Waits until no pause is left: 0. Where that does not fit in `maxWaitMs`, the ms that are left, at once. */
  async pass(subject: string, maxWaitMs: number, signal: AbortSignal | undefined): Promise<number> {
    const endMs = this.#nowMs() + maxWaitMs;
    for (let leftMs = this.leftMs(subject); leftMs > 0; leftMs = this.leftMs(subject)) {
      if (leftMs > endMs - this.#nowMs() || this.#sleepers >= SLEEPERS_MAX) return leftMs;
      this.#sleepers++;
      try {
        await (this.#pauses.get(subject) as Pause).sleepers.sleep(leftMs, signal);
      } finally {
        this.#sleepers--;
      }
    }
    return 0;
  }

  async #share(subject: string, pauseMs: number): Promise<void> {
    const look = await this.#limiter.peek(subject);
    const isBlocked = look.reason === 'blocked' && (look.retryAfterMs ?? 0) >= pauseMs;
    if (look.degraded !== undefined || isBlocked) return;
    if (this.#mayBlock && (await this.#block(subject, pauseMs))) return;
    // Charges what is left, unless a limit would then be short for longer than the pause.
    const cost = Math.min(...look.limits.map(({ remaining }) => remaining));
    const fits = this.#limiter.limits.every(({ windowMs }) => windowMs <= pauseMs);
    if (fits) await this.#limiter.consume(subject, { cost });
  }

  /** False where the limiter was made without the option `blocks`. */
  async #block(subject: string, pauseMs: number): Promise<boolean> {
    try {
      await this.#limiter.block(subject, pauseMs);
      return true;
    } catch (error) {
      if (!isComportaError(error) || error.field !== 'blocks') throw error;
      this.#mayBlock = false;
      return false;
    }
  }

  #makeRoom(): void {
    for (const subject of this.#pauses.keys()) this.leftMs(subject);
    const [oldest] = this.#pauses.keys();
    if (oldest !== undefined && this.#pauses.size >= SUBJECTS_MAX) this.#pauses.delete(oldest);
  }

  #nowMs(): number {
    return this.#clock.nowUs() / 1000;
  }
}

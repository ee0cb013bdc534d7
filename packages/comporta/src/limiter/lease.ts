/// <reference lib="esnext.disposable" preserve="true" />
import type { Decision } from '../core/decision.js';
import type { Clock } from '../core/time.js';
import type { WaitOptions } from './wait.js';

/** Settings of `acquire`: without `maxWaitMs` it does not wait. */
export type AcquireOptions = WaitOptions;

/**
 * A decision and, where it was allowed and the policy limits concurrency, the place that it holds. The lease
 * is renewed until it is released; it keeps the process alive until then, or until the limiter is closed.
 */
export interface Lease extends AsyncDisposable {
  readonly decision: Decision;
  readonly allowed: boolean;
  /** Whether there is a place to release: not after a refusal, not without such limits, and not when it is over. */
  readonly holds: boolean;
  /** Aborts when the place is lost: this process was away for longer than the lease and others took the room. */
  readonly signal: AbortSignal;
  /** Frees the place; further calls do nothing. Never rejects: a store that is away frees it by itself in time. */
  release(): Promise<void>;
}

/** What a lease asks of its limiter. */
export interface Landlord {
  readonly clock: Clock;
  /** Length of the shortest lease of the policy's limits. */
  readonly leaseMs: number;
  /** Whether the place is still held, for another lease. Rejects when the store cannot say. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** Renewals per lease: two may fail, and the third still comes before its end. */
const RENEWALS = 4;

/** A place that is held. `onEnd` is told once. */
export class HeldLease implements Lease {
  readonly decision: Decision;
  readonly #landlord: Landlord | undefined;
  readonly #onEnd: () => void;
  /** Made when somebody asks: most never do. */
  #abort: AbortController | undefined;
  #stopTimer: () => void = () => undefined;
  /** Under way: a place must not be freed before it, or it would take the place again. */
  #renewal: Promise<void> = Promise.resolve();
  #isOver = false;

  /** Without a landlord there is nothing to hold. */
  constructor(decision: Decision, landlord: Landlord | undefined, onEnd: () => void) {
    this.decision = decision;
    this.#landlord = landlord;
    this.#onEnd = onEnd;
    this.#schedule();
  }

  get allowed(): boolean {
    return this.decision.allowed;
  }

  get holds(): boolean {
    return this.#landlord !== undefined && !this.#isOver;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    return this.#abort.signal;
  }

  async release(): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    await this.#renewal;
    await this.#free();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  #end(): void {
    this.#isOver = true;
    this.#stopTimer();
    this.#onEnd();
  }

  async #free(): Promise<void> {
    await this.#landlord?.release().catch(() => undefined);
  }

  #schedule(): void {
    if (this.#landlord === undefined || this.#isOver) return;
    const { clock, leaseMs } = this.#landlord;
    this.#stopTimer = clock.startTimer(leaseMs / RENEWALS, () => {
      this.#renewal = this.#renew();
    });
  }

  /** Where the store cannot say, the next renewal will: the place may be free by then, or still held. */
  async #renew(): Promise<void> {
    const isHeld = await this.#landlord?.renew().catch(() => true);
    if (this.#isOver) return;
    if (isHeld !== false) return this.#schedule();
    this.#end();
    this.#abort ??= new AbortController();
    this.#abort.abort(new Error('the lease was lost: it was not renewed in time and the room is taken'));
    // Of several limits some may have held the place on.
    await this.#free();
  }
}

import type { Degraded, FailureMode } from '../core/decision.js';
import type { Emitter, LimiterEvents } from '../core/events.js';
import type { Clock } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import type { Charge, MaybePromise, PolicyStore, StoreReply } from '../stores/store.js';
import { withDeadline } from './deadline.js';

export interface GuardOptions {
  readonly policy: string;
  readonly timeoutMs: number;
  readonly mode: FailureMode;
  readonly clock: Clock;
  readonly events: Emitter<LimiterEvents>;
}

/** One question to the store. */
export interface Question<R> {
  readonly operation: 'consume' | 'peek';
  readonly subject: string;
  readonly cost: number;
  /** A tighter time limit than the policy's. */
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Makes the caller's answer of the store's, or of what stands in for it. */
  word(reply: StoreReply): R;
}

/**
 * Stands between a limiter and its store: every answer comes within the time limit, and a store that
 * fails is replaced by the failure mode. `local` decides in mode `local` only.
 */
export class Guard {
  readonly #store: PolicyStore;
  readonly #local: PolicyStore;
  readonly #options: GuardOptions;
  #failing = false;

  constructor(store: PolicyStore, local: PolicyStore, options: GuardOptions) {
    this.#store = store;
    this.#local = local;
    this.#options = options;
  }

  decide<R>(question: Question<R>): MaybePromise<R> {
    const { operation, subject, cost, signal } = question;
    if (signal?.aborted === true)
      return this.#standIn(question, new StoreError('aborted', 'the caller had aborted before the call'));
    const waiter: Waiter = { isOver: false };
    let answer: MaybePromise<StoreReply>;
    try {
      answer = this.#store[operation](subject, cost, waiter);
    } catch (error) {
      return this.#standIn(question, error);
    }
    if (!(answer instanceof Promise)) return question.word(answer);
    return withDeadline(answer, {
      waiter,
      signal,
      timeoutMs: Math.min(question.timeoutMs ?? this.#options.timeoutMs, this.#options.timeoutMs),
      clock: this.#options.clock,
      onValue: (reply) => {
        if (this.#failing) this.#recovered();
        return question.word(reply);
      },
      onError: (error) => this.#standIn(question, error),
    });
  }

  /** Refunds where the charge was made; false when the store cannot be reached in time. */
  async refund(charge: Charge, degraded: Degraded | undefined): Promise<boolean> {
    if (degraded !== undefined) return degraded.mode === 'local' && (await this.#local.refund(charge)) > 0;
    try {
      return (await this.#bounded((waiter) => this.#store.refund(charge, waiter))) > 0;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  /** Forgets a subject in the store and locally; rejects with a {@link StoreError}. */
  async reset(subject: string): Promise<number> {
    try {
      return await this.#bounded((waiter) => this.#store.reset(subject, waiter));
    } finally {
      // Last, for over memory the two are one and the count is the store's.
      await this.#local.reset(subject);
    }
  }

  #bounded<T>(start: (waiter: Waiter) => MaybePromise<T>): MaybePromise<T> {
    const waiter: Waiter = { isOver: false };
    const work = start(waiter);
    if (!(work instanceof Promise)) return work;
    const { timeoutMs, clock } = this.#options;
    const onError = (error: unknown): never => {
      throw error;
    };
    return withDeadline(work, { waiter, timeoutMs, clock, signal: undefined, onValue: (value) => value, onError });
  }

  #standIn<R>({ operation, subject, cost, word }: Question<R>, error: unknown): R {
    const degraded = this.#failed(error);
    if (degraded.mode !== 'local') return word({ atUs: 0, numbers: [], degraded });
    // The local store is a memory store: it answers at once.
    return word({ ...(this.#local[operation](subject, cost) as StoreReply), degraded });
  }

  #recovered(): void {
    this.#failing = false;
    this.#options.events.emit('recovered', { policy: this.#options.policy });
  }

  #failed(error: unknown): Degraded {
    const { policy, mode, events } = this.#options;
    const cause = error instanceof StoreError ? error.kind : 'unavailable';
    const degraded: Degraded = { mode, cause, detail: error instanceof Error ? error.message : String(error) };
    // A caller that gives up says nothing about the store.
    if (cause === 'aborted') return degraded;
    events.emit('storeError', { policy, degraded });
    if (!this.#failing) {
      this.#failing = true;
      events.emit('degraded', { policy, degraded });
    }
    return degraded;
  }
}

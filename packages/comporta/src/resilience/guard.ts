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

/** Limits of one call that are tighter than the policy's. */
export interface CallLimits {
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Stands between a limiter and its store: every answer comes within the time limit, and a store that
 * fails is replaced by the failure mode. `local` is asked in mode `local` only.
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

  consume(subject: string, cost: number, limits: CallLimits): MaybePromise<StoreReply> {
    return this.#decide('consume', subject, cost, limits);
  }

  peek(subject: string, cost: number, limits: CallLimits): MaybePromise<StoreReply> {
    return this.#decide('peek', subject, cost, limits);
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
    await this.#local.reset(subject);
    return this.#bounded((waiter) => this.#store.reset(subject, waiter));
  }

  #bounded<T>(start: (waiter: Waiter) => MaybePromise<T>): MaybePromise<T> {
    const waiter: Waiter = { isOver: false };
    const work = start(waiter);
    if (!(work instanceof Promise)) return work;
    return withDeadline(work, waiter, this.#options.timeoutMs, undefined, this.#options.clock);
  }

  #decide(operation: 'consume' | 'peek', subject: string, cost: number, limits: CallLimits): MaybePromise<StoreReply> {
    const fallBack = (error: unknown) => this.#fallBack(operation, subject, cost, this.#failed(error));
    if (limits.signal?.aborted === true) return fallBack(new StoreError('aborted', 'the caller had aborted before the call'));
    const waiter: Waiter = { isOver: false };
    let answer: MaybePromise<StoreReply>;
    try {
      answer = this.#store[operation](subject, cost, waiter);
    } catch (error) {
      return fallBack(error);
    }
    if (!(answer instanceof Promise)) return answer;
    const timeoutMs = Math.min(limits.timeoutMs ?? this.#options.timeoutMs, this.#options.timeoutMs);
    return withDeadline(answer, waiter, timeoutMs, limits.signal, this.#options.clock).then((reply) => this.#succeeded(reply), fallBack);
  }

  #fallBack(operation: 'consume' | 'peek', subject: string, cost: number, degraded: Degraded): MaybePromise<StoreReply> {
    if (degraded.mode !== 'local') return { atUs: 0, numbers: [], degraded };
    const reply = this.#local[operation](subject, cost) as StoreReply;
    return { ...reply, degraded };
  }

  #succeeded(reply: StoreReply): StoreReply {
    if (this.#failing) {
      this.#failing = false;
      this.#options.events.emit('recovered', { policy: this.#options.policy });
    }
    return reply;
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

import type { Degraded, FailureMode } from '../core/decision.js';
import type { Emitter, LimiterEvents } from '../core/events.js';
import type { Clock } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import type { Charge, MaybePromise, Plan, PolicyStore, StoreReply } from '../stores/store.js';
import { Asker, REFUSALS } from './asker.js';
import type { StoreHealth } from './health.js';
import type { LocalShare } from './local-share.js';
import type { Notices } from './notices.js';
import { type Creditor, PayBack } from './pay-back.js';

export interface GuardOptions {
  readonly policy: string;
  readonly timeoutMs: number;
  readonly mode: FailureMode;
  /** Charge the store, once it is back, with what was admitted here in its place. */
  readonly payBack: boolean;
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

const isAdmitted = ({ numbers }: StoreReply): boolean => numbers.every((n, i) => i % 4 !== 1 || n === 0);

/**
 * Stands between a limiter and its store: every answer comes within the time limit, and a store that
 * fails is replaced by the failure mode. `local` decides in mode `local` only.
 */
export class Guard {
  readonly #store: PolicyStore;
  readonly #local: LocalShare;
  readonly #asker: Asker;
  readonly #notices: Notices;
  readonly #options: GuardOptions;
  readonly #payBack: PayBack | undefined;
  #failing = false;

  constructor(plan: Plan, store: PolicyStore, local: LocalShare, health: StoreHealth, options: GuardOptions) {
    this.#store = store;
    this.#local = local;
    this.#asker = new Asker(store, health, options.clock, options.timeoutMs);
    this.#notices = health.notices;
    this.#options = options;
    const isOwing = options.mode === 'local' && options.payBack && store.force !== undefined;
    this.#payBack = isOwing ? new PayBack(plan, options.clock, this.#creditor()) : undefined;
  }

  decide<R>(question: Question<R>): MaybePromise<R> {
    const { operation, subject, cost, signal, word } = question;
    const standIn = (error: unknown): R => this.#standIn(question, error);
    if (signal?.aborted === true) return standIn(new StoreError('aborted', 'the caller had aborted before the call'));
    return this.#asker.ask({
      subject,
      signal,
      timeoutMs: question.timeoutMs,
      start: (waiter) => this.#store[operation](subject, cost, waiter),
      onValue: (reply: StoreReply) => word(this.#answered(reply)),
      onError: standIn,
    });
  }

  /** Refunds where the charge was made; false when the store cannot be reached in time. */
  async refund(charge: Charge, degraded: Degraded | undefined): Promise<boolean> {
    if (degraded !== undefined) {
      this.#payBack?.forgive(charge);
      return degraded.mode === 'local' && (await this.#local.forCost(0).refund(charge)) > 0;
    }
    try {
      return (await this.#bounded(charge.subject, (waiter) => this.#store.refund(charge, waiter))) > 0;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  /** Forgets a subject in the store and locally; rejects with a {@link StoreError}. */
  async reset(subject: string): Promise<number> {
    this.#payBack?.forget(subject);
    try {
      return await this.#bounded(subject, (waiter) => this.#store.reset(subject, waiter));
    } catch (error) {
      this.#failed(error);
      throw error;
    } finally {
      // Last, for over memory the two are one and the count is the store's.
      await this.#local.forCost(0).reset(subject);
    }
  }

  close(): void {
    this.#payBack?.stop();
  }

  #bounded<T>(subject: string, start: (waiter: Waiter) => MaybePromise<T>): MaybePromise<T> {
    const onError = (error: unknown): never => {
      throw error;
    };
    return this.#asker.ask({
      subject,
      start,
      signal: undefined,
      timeoutMs: undefined,
      onValue: (value: T) => value,
      onError,
    });
  }

  #standIn<R>({ operation, subject, cost, word }: Question<R>, error: unknown): R {
    const degraded = this.#failed(error);
    if (degraded.mode !== 'local') return word({ atUs: 0, numbers: [], degraded });
    // The local store is a memory store: it answers at once.
    const reply = this.#local.forCost(cost)[operation](subject, cost) as StoreReply;
    // Where the store may have been reached it may have charged already: better once too few than twice.
    const isOwed = operation === 'consume' && error instanceof StoreError && error.isUnsent && isAdmitted(reply);
    if (isOwed) this.#payBack?.record(subject, cost, reply.atUs);
    return word({ ...reply, degraded });
  }

  #answered(reply: StoreReply): StoreReply {
    this.#payBack?.start();
    if (this.#failing) {
      this.#failing = false;
      this.#notices.recovered();
      this.#options.events.emit('recovered', { policy: this.#options.policy });
    }
    return reply;
  }

  #creditor(): Creditor {
    const onValue = () => true;
    const onError = (error: unknown) => !(error instanceof StoreError && error.isUnsent);
    return {
      isBack: (subject) => this.#asker.isBack(subject),
      pay: async (subject, amounts) => {
        const start = (waiter: Waiter) => this.#store.force?.(subject, amounts, waiter) ?? 0;
        return this.#asker.ask({ subject, start, signal: undefined, timeoutMs: undefined, onValue, onError });
      },
    };
  }

  #failed(error: unknown): Degraded {
    const { policy, mode, events } = this.#options;
    const cause = error instanceof StoreError ? error.kind : 'unavailable';
    const degraded: Degraded = { mode, cause, detail: error instanceof Error ? error.message : String(error) };
    // A caller that gives up says nothing about the store.
    if (cause === 'aborted') return degraded;
    if (!(cause in REFUSALS)) events.emit('storeError', { policy, degraded });
    if (!events.has('degraded')) this.#notices.failed(policy, degraded);
    if (!this.#failing) {
      this.#failing = true;
      events.emit('degraded', { policy, degraded });
    }
    return degraded;
  }
}

import type { Clock } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import type { MaybePromise, PolicyStore } from '../stores/store.js';
import { withDeadline } from './deadline.js';
import type { NodeHealth, Refusal, StoreHealth } from './health.js';

/** One call to the store, and what to make of either outcome. */
export interface Ask<T, R> {
  readonly subject: string;
  readonly signal: AbortSignal | undefined;
  /** A tighter time limit than the policy's. */
  readonly timeoutMs: number | undefined;
  start(waiter: Waiter): MaybePromise<T>;
  onValue(value: T): R;
  onError(error: unknown): R;
}

/** Causes of calls that were not made, and their words. */
export const REFUSALS: Readonly<Record<Refusal, string>> = {
  'breaker-open': 'the node failed lately and was not asked',
  overloaded: 'the node owes too many answers and was not asked',
};

const toMs = (clock: Clock): number => Math.floor(clock.nowUs() / 1000);

/** Puts calls to a store under its nodes' breakers and under the time limit. */
export class Asker {
  readonly #store: PolicyStore;
  readonly #health: StoreHealth;
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  constructor(store: PolicyStore, health: StoreHealth, clock: Clock, timeoutMs: number) {
    this.#store = store;
    this.#health = health;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** Whether a subject's node answers, as far as known. */
  isBack(subject: string): boolean {
    return this.#health.node(this.#store.shardOf?.(subject) ?? '').state === 'closed';
  }

  /** Asks the store, unless the subject's node is known to be dead, and never for longer than the time limit. */
  ask<T, R>({ subject, start, signal, timeoutMs, onValue, onError }: Ask<T, R>): MaybePromise<R> {
    const clock = this.#clock;
    const limitMs = Math.min(timeoutMs ?? this.#timeoutMs, this.#timeoutMs);
    const node = this.#store.shardOf === undefined ? undefined : this.#health.node(this.#store.shardOf(subject));
    const sentAtMs = toMs(clock);
    const refusal = node?.enter(sentAtMs, limitMs);
    if (refusal !== undefined) {
      this.#store.suspect?.(subject);
      return onError(new StoreError(refusal, REFUSALS[refusal], { isUnsent: true }));
    }
    const fail = (error: unknown): R => {
      this.#blame(node, subject, error, limitMs, sentAtMs);
      return onError(error);
    };
    const waiter: Waiter = { isOver: false };
    let work: MaybePromise<T>;
    try {
      work = start(waiter);
    } catch (error) {
      node?.leave();
      return fail(error);
    }
    if (!(work instanceof Promise)) {
      node?.leave();
      return onValue(work);
    }
    return withDeadline(work, {
      waiter,
      signal,
      timeoutMs: limitMs,
      clock,
      onSettled: () => node?.leave(),
      onValue: (value) => {
        node?.succeeded(toMs(clock));
        return onValue(value);
      },
      onError: fail,
    });
  }

  /** Tells the breaker of a failure that is the node's. An answer, even one of refusal, shows that it lives. */
  #blame(node: NodeHealth | undefined, subject: string, error: unknown, limitMs: number, sentAtMs: number): void {
    if (node === undefined) return;
    const nowMs = toMs(this.#clock);
    if (error instanceof StoreError && error.isAnswer) {
      node.succeeded(nowMs);
      return;
    }
    const cause = error instanceof StoreError ? error.kind : 'unavailable';
    // A caller with less patience than the policy proves nothing.
    const isFault = cause === 'unavailable' || (cause === 'timeout' && limitMs >= this.#timeoutMs);
    if (!isFault) return;
    node.failed(nowMs, Math.random(), sentAtMs);
    this.#store.suspect?.(subject);
  }
}

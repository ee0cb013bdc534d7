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
  /** `node` is the one that was asked, or would have been. */
  onValue(value: T, node: string): R;
  onError(error: unknown, node: string): R;
}

/** Name of the one node of a store that tells no nodes apart. */
const ONLY_NODE = 'store';

const refused = (kind: Refusal, message: string): StoreError => new StoreError(kind, message, { isUnsent: true });

/** Causes of calls that were not made. Made once: an error costs as much as all the rest of such a call. */
export const REFUSALS: Readonly<Record<Refusal, StoreError>> = {
  'breaker-open': refused('breaker-open', 'the node failed lately and was not asked'),
  overloaded: refused('overloaded', 'the node owes too many answers and was not asked'),
};

const toMs = (clock: Clock): number => Math.floor(clock.nowUs() / 1000);

/** Puts calls to a store under its nodes' breakers and under the time limit of their policy. */
export class Asker {
  readonly #store: PolicyStore;
  readonly #health: StoreHealth;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #breakerMs: number;

  /** `breakerMs` is the time limit whose breaker it goes by: others may have longer ones and share it. */
  constructor(store: PolicyStore, health: StoreHealth, clock: Clock, timeoutMs: number, breakerMs: number = timeoutMs) {
    this.#store = store;
    this.#health = health;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#breakerMs = breakerMs;
  }

  /** Whether a subject's node answers, as far as known. */
  isBack(subject: string): boolean {
    return this.#health.node(this.nodeOf(subject)).state(this.#breakerMs) === 'closed';
  }

  /** Name of the node that a subject lives on, as far as known. */
  nodeOf(subject: string): string {
    return this.#store.shardOf?.(subject) ?? ONLY_NODE;
  }

  /** Asks the store, unless the subject's node is known to be dead, and never for longer than the time limit. */
  ask<T, R>({ subject, start, signal, timeoutMs, onValue, onError }: Ask<T, R>): MaybePromise<R> {
    const clock = this.#clock;
    const limitMs = Math.min(timeoutMs ?? this.#timeoutMs, this.#timeoutMs);
    const name = this.nodeOf(subject);
    const node = this.#store.shardOf === undefined ? undefined : this.#health.node(name);
    const sentAtMs = toMs(clock);
    const refusal = node?.enter(this.#breakerMs, sentAtMs, limitMs);
    if (refusal !== undefined) {
      this.#store.suspect?.(subject);
      return onError(REFUSALS[refusal], name);
    }
    const fail = (error: unknown): R => {
      this.#blame(node, subject, error, limitMs, sentAtMs);
      return onError(error, name);
    };
    const waiter: Waiter = { isOver: false, timeoutMs: limitMs, isHeld: false, onOver: undefined };
    let work: MaybePromise<T>;
    try {
      work = start(waiter);
    } catch (error) {
      node?.leave();
      return fail(error);
    }
    if (!(work instanceof Promise)) {
      node?.leave();
      return onValue(work, name);
    }
    return withDeadline(work, {
      waiter,
      signal,
      timeoutMs: limitMs,
      clock,
      onSettled: () => node?.leave(),
      onValue: (value) => {
        node?.succeeded(this.#breakerMs, toMs(clock), sentAtMs);
        return onValue(value, name);
      },
      onError: fail,
    });
  }

  /** Tells the breaker of a failure that is the node's. An answer, even one of refusal, shows that it lives. */
  #blame(node: NodeHealth | undefined, subject: string, error: unknown, limitMs: number, sentAtMs: number): void {
    if (node === undefined) return;
    const nowMs = toMs(this.#clock);
    if (error instanceof StoreError && error.isAnswer) {
      node.succeeded(this.#breakerMs, nowMs, sentAtMs);
      return;
    }
    if (error instanceof StoreError && error.isStarting) return;
    const cause = error instanceof StoreError ? error.kind : 'unavailable';
    // A caller with less patience than the breaker is for proves nothing.
    const isFault = cause === 'unavailable' || (cause === 'timeout' && limitMs >= this.#breakerMs);
    if (!isFault) return;
    const isTimeout = cause === 'timeout';
    node.failed(this.#breakerMs, nowMs, { isTimeout, sentAtMs, chance: Math.random() });
    this.#store.suspect?.(subject);
  }
}

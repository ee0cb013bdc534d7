import type { Clock } from '../core/time.js';
import { type SharedCall, StoreError, type Waiter } from '../core/waiting.js';
import type { MaybePromise, PolicyStore } from '../stores/store.js';
import { type Race, withDeadline } from './deadline.js';
import type { NodeHealth, Places, Refusal, StoreHealth } from './health.js';

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
  readonly #common: Common;
  readonly #health: StoreHealth;
  readonly #timeoutMs: number;

  /** `breakerMs` is the time limit whose breaker it goes by: others may have longer ones and share it. */
  constructor(store: PolicyStore, health: StoreHealth, clock: Clock, timeoutMs: number, breakerMs: number = timeoutMs) {
    this.#common = { store, clock, breakerMs };
    this.#health = health;
    this.#timeoutMs = timeoutMs;
  }

  /** Whether a subject's node answers, as far as known. */
  isBack(subject: string): boolean {
    return this.#health.node(this.nodeOf(subject)).state(this.#common.breakerMs) === 'closed';
  }

  /** Name of the node that a subject lives on, as far as known. */
  nodeOf(subject: string): string {
    return this.#common.store.shardOf?.(subject) ?? ONLY_NODE;
  }

  /** Tells the same at any later time. */
  whereIs(subject: string): () => string {
    return () => this.nodeOf(subject);
  }

  /** Asks the store, unless the subject's node is known to be dead, and never for longer than the time limit. */
  ask<T, R>(ask: Ask<T, R>): MaybePromise<R> {
    const { store, clock, breakerMs } = this.#common;
    const limitMs = Math.min(ask.timeoutMs ?? this.#timeoutMs, this.#timeoutMs);
    const name = this.nodeOf(ask.subject);
    const node = store.shardOf === undefined ? undefined : this.#health.node(name);
    const sentAtMs = toMs(clock);
    const places = node?.enter(breakerMs, sentAtMs, limitMs);
    if (typeof places === 'string') {
      store.suspect?.(ask.subject);
      return ask.onError(REFUSALS[places], name);
    }
    const inquiry = new Inquiry(ask, limitMs, this.#common, node, places, name, sentAtMs);
    let work: MaybePromise<T>;
    try {
      work = ask.start(inquiry);
    } catch (error) {
      inquiry.onSettled();
      return inquiry.onError(error);
    }
    if (work instanceof Promise) return withDeadline(work, inquiry);
    inquiry.onSettled();
    return ask.onValue(work, name);
  }
}

/** What all calls of one asker have in common. */
interface Common {
  readonly store: PolicyStore;
  readonly clock: Clock;
  readonly breakerMs: number;
}

/** A call that is under way: who waits, and what its end means for the node. */
class Inquiry<T, R> implements Race<T, R>, Waiter {
  isOver = false;
  isHeld = false;
  call: SharedCall | undefined = undefined;
  onOver: (() => void) | undefined = undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly #ask: Ask<T, R>;
  readonly #common: Common;
  readonly #node: NodeHealth | undefined;
  readonly #places: Places | undefined;
  readonly #name: string;
  readonly #sentAtMs: number;

  constructor(
    ask: Ask<T, R>,
    timeoutMs: number,
    common: Common,
    node: NodeHealth | undefined,
    places: Places | undefined,
    name: string,
    sentAtMs: number,
  ) {
    this.timeoutMs = timeoutMs;
    this.signal = ask.signal;
    this.clock = common.clock;
    this.#ask = ask;
    this.#common = common;
    this.#node = node;
    this.#places = places;
    this.#name = name;
    this.#sentAtMs = sentAtMs;
  }

  get waiter(): Waiter {
    return this;
  }

  onSettled(): void {
    if (this.#places !== undefined) this.#places.taken--;
  }

  onValue(value: T): R {
    this.#node?.succeeded(this.#common.breakerMs, toMs(this.clock), this.#sentAtMs);
    return this.#ask.onValue(value, this.#name);
  }

  onError(error: unknown): R {
    this.#blame(error);
    return this.#ask.onError(error, this.#name);
  }

  /** Tells the breaker of a failure that is the node's. An answer, even one of refusal, shows that it lives. */
  #blame(error: unknown): void {
    const { store, breakerMs } = this.#common;
    const [node, sentAtMs] = [this.#node, this.#sentAtMs];
    if (node === undefined) return;
    const nowMs = toMs(this.clock);
    if (error instanceof StoreError && error.isAnswer) {
      node.succeeded(breakerMs, nowMs, sentAtMs);
      return;
    }
    if (error instanceof StoreError && error.isStarting) return;
    const cause = error instanceof StoreError ? error.kind : 'unavailable';
    // A caller with less patience than the breaker is for proves nothing.
    const isFault = cause === 'unavailable' || (cause === 'timeout' && this.timeoutMs >= breakerMs);
    if (!isFault) return;
    const isKnown = this.call?.hasFailed === true;
    if (this.call !== undefined) this.call.hasFailed = true;
    node.failed(breakerMs, nowMs, { isTimeout: cause === 'timeout', sentAtMs, chance: Math.random(), isKnown });
    store.suspect?.(this.#ask.subject);
  }
}

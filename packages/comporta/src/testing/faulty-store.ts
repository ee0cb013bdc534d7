import { type Clock, systemClock } from '../core/time.js';
import { StoreError } from '../core/waiting.js';
import { memoryStore } from '../stores/memory.js';
import type { MaybePromise, Plan, PolicyStore, Store } from '../stores/store.js';

/** A store in memory that stands for Redis, with the faults of one. What it counted stays through all of them. */
export interface FaultyStore extends Store {
  /** Refuses connections from now on; calls that wait for an answer fail. */
  down(): void;
  /** Answers nothing, as a server that is stopped: it does what it received once it is up again, for whoever it was. */
  freeze(): void;
  /** Decides at once, and answers `ms` later. */
  slow(ms: number): void;
  /** Decides and charges, and no answer ever arrives. */
  loseReplies(): void;
  /** Serves as it should again. Limiters notice within a second of their clock. */
  up(): void;
}

/** Makes a store that serves until it is told otherwise. `clock` is the system's own by default. */
export function faultyStore({ clock = systemClock }: { readonly clock?: Clock } = {}): FaultyStore {
  return new Faulty(clock);
}

type Fault = 'down' | 'frozen' | 'mute' | { readonly slowMs: number };

/** A call that has no answer yet. */
interface Held {
  recover(): void;
  fail(): void;
}

const unsent = (): StoreError => new StoreError('unavailable', 'the store is down', { isUnsent: true });
const lost = (): StoreError => new StoreError('unavailable', 'the connection was lost');
const nothing = (): void => undefined;

class Faulty implements FaultyStore {
  // Limiters count locally only in the place of a store that is somewhere else.
  readonly kind = 'redis';
  readonly #clock: Clock;
  readonly #memory: Store;
  readonly #held: Set<Held> = new Set();
  #fault: Fault | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#memory = memoryStore({ clock });
  }

  bind(plan: Plan): PolicyStore {
    const memory = this.#memory.bind(plan) as PolicyStore & Required<Pick<PolicyStore, 'act' | 'force'>>;
    return {
      consume: (...given) => this.#ask(() => memory.consume(...given)),
      peek: (...given) => this.#ask(() => memory.peek(...given)),
      force: (...given) => this.#ask(() => memory.force(...given)),
      refund: (...given) => this.#ask(() => memory.refund(...given)),
      act: (...given) => this.#ask(() => memory.act(...given)),
      reset: (...given) => this.#ask(() => memory.reset(...given)),
      // A node with a name has a breaker.
      shardOf: () => 'faulty',
    };
  }

  down(): void {
    this.#fault = 'down';
    for (const call of this.#released()) call.fail();
  }

  freeze(): void {
    this.#fault = 'frozen';
  }

  slow(ms: number): void {
    this.#fault = { slowMs: ms };
  }

  loseReplies(): void {
    this.#fault = 'mute';
  }

  up(): void {
    this.#fault = undefined;
    for (const call of this.#released()) call.recover();
  }

  ping(): Promise<void> {
    return this.#ask(nothing);
  }

  ready(timeoutMs = 1000): Promise<void> {
    if (this.#fault === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const stop = this.#clock.startTimer(timeoutMs, () => {
        this.#held.delete(waiting);
        reject(unsent());
      });
      const recover = (): void => {
        stop();
        resolve();
      };
      const waiting: Held = { recover, fail: () => void this.#held.add(waiting) };
      this.#held.add(waiting);
    });
  }

  close(): Promise<void> {
    return this.#memory.close();
  }

  #ask<T>(run: () => MaybePromise<T>): Promise<T> {
    const fault = this.#fault;
    return new Promise<T>((resolve, reject) => {
      const fail = (): void => reject(lost());
      if (fault === undefined) return resolve(run());
      if (fault === 'down') return reject(unsent());
      if (fault === 'frozen') return void this.#held.add({ recover: () => resolve(run()), fail });
      const reply = run();
      if (fault === 'mute') return void this.#held.add({ recover: nothing, fail });
      this.#later(fault.slowMs, { recover: () => resolve(reply), fail });
    });
  }

  #later(delayMs: number, { recover, fail }: Held): void {
    const stop = this.#clock.startTimer(delayMs, () => {
      this.#held.delete(call);
      recover();
    });
    const ended = (end: () => void) => (): void => {
      stop();
      end();
    };
    const call: Held = { recover: ended(recover), fail: ended(fail) };
    this.#held.add(call);
  }

  #released(): readonly Held[] {
    const calls = [...this.#held];
    this.#held.clear();
    return calls;
  }
}

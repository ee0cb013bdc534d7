import { type Limiter, type LimiterOptions, type Plan, type PolicyStore, type Store, StoreError } from 'comporta';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import type { StoreReply } from '../../../packages/comporta/src/stores/store.js';
import { FakeClock } from '../../support/fake-clock.js';

type Operation = keyof PolicyStore;

/** One question that the store was asked; the test answers it, sooner, later or never. */
export interface Call {
  readonly operation: Operation;
  /** What it was asked for: subject and cost, or a charge. */
  readonly given: readonly unknown[];
  readonly waiter: { readonly isOver: boolean };
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A store whose answers are in the test's hand. */
export class ScriptedStore implements Store {
  readonly kind = 'redis';
  readonly calls: Call[] = [];
  /** Thrown by every operation, without a promise, while it is set. */
  throws: unknown;
  isClosed = false;

  bind(_plan: Plan): PolicyStore {
    const ask =
      (operation: Operation) =>
      (...parts: readonly unknown[]): Promise<never> => {
        if (this.throws !== undefined) throw this.throws;
        // What comes after the waiter belongs to policies with more than limits.
        const last = parts.findIndex((part) => typeof part === 'object' && part !== null && 'isOver' in part);
        const waiter = parts[last] as Call['waiter'];
        return new Promise<never>((resolve, reject) => {
          this.calls.push({
            operation,
            given: parts.slice(0, last),
            waiter,
            resolve: resolve as Call['resolve'],
            reject,
          });
        });
      };
    return {
      consume: ask('consume'),
      peek: ask('peek'),
      refund: ask('refund'),
      reset: ask('reset'),
      act: ask('act'),
    };
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  /** The call with this number; fails when the store was not asked so often. */
  call(index: number): Call {
    const call = this.calls.at(index);
    if (call === undefined) throw new Error(`the store was asked ${this.calls.length} times`);
    return call;
  }
}

/** A reply that admits, with `remaining` left of every one of `limits` limits. */
export const admits = (remaining = 5, limits = 1): StoreReply => ({
  atUs: 1_000_000,
  numbers: Array.from({ length: limits }, () => [remaining, 0, 1000, 1000]).flat(),
});

/** A reply that refuses: the waits of each limit, 0 for one that admits, -1 for never. */
export const refuses = (...waits: readonly number[]): StoreReply => ({
  atUs: 1_000_000,
  numbers: waits.flatMap((wait) => [0, wait, Math.max(wait, 1), Math.max(wait, 1)]),
});

export const unavailable = (): StoreError => new StoreError('unavailable', 'connect ECONNREFUSED 10.9.8.7:6379');

/** A limiter over a scripted store on a fake clock, with everything that it tells. */
export function scripted(options: Omit<LimiterOptions, 'policy' | 'store'>): {
  readonly clock: FakeClock;
  readonly store: ScriptedStore;
  readonly limiter: Limiter;
  readonly heard: string[];
} {
  const [clock, store] = [new FakeClock(), new ScriptedStore()];
  const limiter = wire({ policy: 'api', ...options, store }, clock);
  const heard: string[] = [];
  limiter.on('degraded', ({ policy, degraded }) => heard.push(`degraded ${policy} ${degraded.cause}`));
  limiter.on('recovered', ({ policy }) => heard.push(`recovered ${policy}`));
  limiter.on('storeError', ({ policy, degraded }) => heard.push(`storeError ${policy} ${degraded.cause}`));
  return { clock, store, limiter, heard };
}

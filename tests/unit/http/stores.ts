import { type Clock, memoryStore, type PolicyStore, type Store, StoreError } from 'comporta';

/** A clock that stands still until it is moved; starts at midnight UTC. */
export class ManualClock implements Clock {
  #us = Date.UTC(2026, 0, 1) * 1000;

  nowUs(): number {
    return this.#us;
  }

  advance(ms: number): void {
    this.#us += ms * 1000;
  }

  /** Only the store is given this clock, and it sets no timers. */
  startTimer(): () => void {
    throw new Error('not needed');
  }
}

/** Answers as a memory store does, but later, as stores behind a network do. */
export function lateStore(clock: Clock): Store {
  const memory = memoryStore({ clock });
  return {
    ...memory,
    bind: (plan) => {
      const inner = memory.bind(plan);
      return {
        consume: async (subject, cost) => inner.consume(subject, cost),
        peek: async (subject, cost) => inner.peek(subject, cost),
        refund: async (charge) => inner.refund(charge),
        reset: async (subject) => inner.reset(subject),
      };
    },
  };
}

/** A store that cannot answer. */
export function brokenStore(): Store {
  const fail = async (): Promise<never> => {
    throw new StoreError('unavailable', 'connect ECONNREFUSED 10.9.8.7:6379');
  };
  const policy: PolicyStore = { consume: fail, peek: fail, refund: fail, reset: fail };
  return { kind: 'redis', bind: () => policy, ping: fail, ready: fail, close: async () => undefined };
}

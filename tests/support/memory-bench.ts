import type { Limit } from 'comporta';
import { withIds } from '../../packages/comporta/src/algorithms/limits.js';
import { reservedName } from '../../packages/comporta/src/stores/gates.js';
import { MemoryPolicy } from '../../packages/comporta/src/stores/memory-policy.js';
import { MemoryTable } from '../../packages/comporta/src/stores/memory-table.js';
import type { Plan, StoreReply } from '../../packages/comporta/src/stores/store.js';
import { START_US } from './arbitraries.js';

/** The four numbers of each limit, by name. */
export interface Numbers {
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
  readonly nextAfterMs: number;
}

export function numbersOf({ numbers }: Pick<StoreReply, 'numbers'>, i = 0): Numbers {
  const [remaining, retryAfterMs, resetAfterMs, nextAfterMs] = numbers.slice(i * 4, i * 4 + 4) as [
    number,
    number,
    number,
    number,
  ];
  return { remaining, retryAfterMs, resetAfterMs, nextAfterMs };
}

export const isAllowed = ({ numbers }: Pick<StoreReply, 'numbers'>): boolean =>
  numbers.every((number, i) => i % 4 !== 1 || number === 0);

/** A memory policy on a clock in the test's hand, with its state in view. */
export class MemoryBench {
  nowUs: number = START_US;
  readonly plan: Plan;
  readonly policy: MemoryPolicy;
  readonly #tables: Map<string, MemoryTable> = new Map();
  #decided = 0;

  constructor(limits: readonly Limit[], maxSubjects = 1000) {
    this.plan = { policy: 'p', limits: withIds(limits) };
    const tableOf = (name: string): MemoryTable => {
      const table = this.#tables.get(name) ?? new MemoryTable(maxSubjects);
      this.#tables.set(name, table);
      return table;
    };
    this.policy = new MemoryPolicy(this.plan, tableOf, { nowUs: () => this.nowUs, startTimer: () => () => undefined });
  }

  /** As the limiter asks a store: a cost of 0 is a look. */
  decide(subject: string, cost: number, id = `id${this.#decided++}`): StoreReply {
    if (cost === 0) return this.policy.peek(subject, 0);
    return this.policy.consume(subject, cost, undefined, undefined, id);
  }

  /** Stored state of one limit; `undefined` when there is none. */
  state(subject: string, i = 0): unknown {
    return this.#table(i)?.get(subject, Math.floor(this.nowUs / 1000));
  }

  ttlMs(subject: string, i = 0): number | undefined {
    return this.#table(i)?.ttlMs(subject, Math.floor(this.nowUs / 1000));
  }

  #table(i: number): MemoryTable | undefined {
    const { id, algorithm } = this.plan.limits[i] as Plan['limits'][number];
    return this.#tables.get(`p:${id}:${algorithm.tag}`);
  }

  wasRefunded(decisionId: string): boolean {
    return this.#tables.get('p:refund')?.get(`s:${decisionId}`, Math.floor(this.nowUs / 1000)) !== undefined;
  }

  /** What is reserved of a subject, as stored. */
  reserved(subject: string): readonly { id: string; cost: number; atUs: number }[] | undefined {
    const stored = this.#tables.get(`p:${reservedName(this.plan)}`)?.get(subject, Math.floor(this.nowUs / 1000));
    return stored as readonly { id: string; cost: number; atUs: number }[] | undefined;
  }

  /** A copy that can be tried out without touching this one. */
  snapshot(subject: string): string {
    return JSON.stringify(this.plan.limits.map((_, i) => this.state(subject, i) ?? null));
  }

  /** What a request of `cost` would be told `afterMs` from now. */
  peekAfter(afterMs: number, subject: string, cost: number): StoreReply {
    const before = this.nowUs;
    this.nowUs += afterMs * 1000;
    try {
      return this.policy.peek(subject, cost);
    } finally {
      this.nowUs = before;
    }
  }
}

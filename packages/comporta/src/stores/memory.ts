import type { Description, Evaluation, Limit } from '../algorithms/algorithm.js';
import { ComportaError, show } from '../core/errors.js';
import { type Clock, systemClock } from '../core/time.js';
import { shortSubject } from './keyspace.js';
import { MemoryTable } from './memory-table.js';
import { type Charge, type Plan, type PolicyStore, refundTtlMs, type Store, type StoreReply } from './store.js';

export interface MemoryStoreOptions {
  /**
   * Most subjects kept per limit: 1 to 10 000 000, 100 000 by default. A sliding window keeps ten times as
   * many entries, one for each admitted request. Beyond that the least used subjects start afresh.
   */
  readonly maxSubjects?: number;
  /** Told, a minute apart at most, that counts were dropped for want of room; `console.warn` by default. */
  readonly onWarning?: (message: string) => void;
  readonly clock?: Clock;
}

/** Keeps state in this process: exact for one process, gone when it ends. Answers at once, never fails. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const {
    maxSubjects = 100_000,
    clock = systemClock,
    onWarning = (text) => console.warn(`comporta: ${text}`),
  } = options;
  if (!Number.isSafeInteger(maxSubjects) || maxSubjects < 1 || maxSubjects > 10_000_000) {
    throw new ComportaError(
      'ERR_OPTION',
      `maxSubjects: expected a whole number from 1 to 10000000, got ${show(maxSubjects)}`,
      'maxSubjects',
    );
  }
  const onLoss = lossReporter(clock, onWarning);
  const tables = new Map<string, MemoryTable>();
  const tableOf = (name: string): MemoryTable => {
    const table = tables.get(name) ?? new MemoryTable(maxSubjects, onLoss);
    tables.set(name, table);
    return table;
  };
  return {
    kind: 'memory',
    bind: (plan) => new MemoryPolicy(plan, tableOf, clock),
    ping: () => Promise.resolve(),
    ready: () => Promise.resolve(),
    close: async () => tables.clear(),
  };
}

const REPORT_EVERY_MS = 60_000;

function lossReporter(clock: Clock, say: (message: string) => void): () => void {
  let lost = 0;
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    lost++;
    const nowMs = clock.nowUs() / 1000;
    if (nowMs - saidAtMs < REPORT_EVERY_MS) return;
    saidAtMs = nowMs;
    say(
      `the memory store is full: counts of ${lost} subjects were dropped while they still counted; raise maxSubjects`,
    );
    lost = 0;
  };
}

/** The memory store as one policy sees it; tests look into its tables. */
export class MemoryPolicy implements PolicyStore {
  readonly #limits: readonly Limit[];
  readonly #tables: readonly MemoryTable[];
  readonly #refunds: MemoryTable;
  readonly #clock: Clock;
  readonly #refundTtlMs: number;

  constructor(plan: Plan, tableOf: (name: string) => MemoryTable, clock: Clock) {
    this.#limits = plan.limits;
    this.#tables = plan.limits.map((limit) => tableOf(`${plan.policy}:${limit.id}:${limit.algorithm.tag}`));
    this.#refunds = tableOf(`${plan.policy}:refund`);
    this.#clock = clock;
    this.#refundTtlMs = refundTtlMs(plan);
  }

  consume(text: string, cost: number): StoreReply {
    const subject = shortSubject(text);
    const atUs = this.#clock.nowUs();
    const nowMs = Math.floor(atUs / 1000);
    const evaluations = this.#evaluate(subject, cost, atUs, nowMs);
    const charge = evaluations.every(isAdmitted) ? cost : 0;
    const numbers: number[] = [];
    for (let i = 0; i < evaluations.length; i++) {
      const { algorithm, args } = this.#limits[i] as Limit;
      const { state, retryAfterMs, stepped } = evaluations[i] as Evaluation<unknown>;
      const now = inUnit(algorithm, atUs, nowMs);
      const stored = charge > 0 || stepped ? algorithm.commit(state, now, charge, args) : state;
      if (charge > 0 || stepped) this.#store(i, subject, stored, now, nowMs);
      push(numbers, algorithm.describe(stored, now, args), retryAfterMs);
    }
    return { atUs, numbers };
  }

  peek(subject: string, cost: number): StoreReply {
    const atUs = this.#clock.nowUs();
    const nowMs = Math.floor(atUs / 1000);
    const numbers: number[] = [];
    this.#evaluate(shortSubject(subject), cost, atUs, nowMs).forEach(({ state, retryAfterMs }, i) => {
      const { algorithm, args } = this.#limits[i] as Limit;
      push(numbers, algorithm.describe(state, inUnit(algorithm, atUs, nowMs), args), retryAfterMs);
    });
    return { atUs, numbers };
  }

  force(text: string, amounts: readonly number[]): number {
    const subject = shortSubject(text);
    const atUs = this.#clock.nowUs();
    const nowMs = Math.floor(atUs / 1000);
    let charged = 0;
    this.#evaluate(subject, 0, atUs, nowMs).forEach(({ state }, i) => {
      const { algorithm, args } = this.#limits[i] as Limit;
      const now = inUnit(algorithm, atUs, nowMs);
      const amount = Math.min(amounts[i] as number, algorithm.describe(state, now, args).remaining);
      if (amount <= 0) return;
      charged += amount;
      this.#store(i, subject, algorithm.commit(state, now, amount, args), now, nowMs);
    });
    return charged;
  }

  refund({ subject: text, decisionId, atUs, amount }: Charge): number {
    const subject = shortSubject(text);
    const nowUs = this.#clock.nowUs();
    const nowMs = Math.floor(nowUs / 1000);
    const marker = `${subject}:${decisionId}`;
    if (this.#refunds.get(marker, nowMs) !== undefined) return 0;
    let given = 0;
    this.#limits.forEach(({ algorithm, args }, i) => {
      const now = inUnit(algorithm, nowUs, nowMs);
      const state = (this.#tables[i] as MemoryTable).get(subject, nowMs);
      const refunded = state === undefined ? undefined : algorithm.refund(state, now, amount, atUs, args);
      if (refunded === undefined) return;
      given++;
      this.#store(i, subject, refunded, now, nowMs);
    });
    if (given > 0) this.#refunds.set(marker, true, nowMs + this.#refundTtlMs, 1, nowMs);
    return given;
  }

  reset(text: string): number {
    const subject = shortSubject(text);
    const nowMs = Math.floor(this.#clock.nowUs() / 1000);
    return this.#tables.filter((table) => table.get(subject, nowMs) !== undefined && table.delete(subject)).length;
  }

  #evaluate(subject: string, cost: number, atUs: number, nowMs: number): Evaluation<unknown>[] {
    return this.#limits.map(({ algorithm, args }, i) => {
      const state = (this.#tables[i] as MemoryTable).get(subject, nowMs);
      return algorithm.evaluate(state, inUnit(algorithm, atUs, nowMs), cost, args);
    });
  }

  #store(i: number, subject: string, state: unknown, now: number, nowMs: number): void {
    const { algorithm, args } = this.#limits[i] as Limit;
    const size = algorithm.sizeOf?.(state) ?? 1;
    (this.#tables[i] as MemoryTable).set(subject, state, nowMs + algorithm.ttlMs(state, now, args), size, nowMs);
  }
}

const isAdmitted = ({ retryAfterMs }: Evaluation<unknown>): boolean => retryAfterMs === 0;
const inUnit = (algorithm: Limit['algorithm'], us: number, ms: number): number => (algorithm.clock === 'us' ? us : ms);

function push(numbers: number[], { remaining, resetAfterMs, nextAfterMs }: Description, retryAfterMs: number): void {
  numbers.push(remaining, retryAfterMs, resetAfterMs, nextAfterMs);
}

import type { Limit, Part } from '../algorithms/algorithm.js';
import { sharedLimit } from '../algorithms/share.js';
import type { Clock } from '../core/time.js';
import { shortSubject } from '../stores/keyspace.js';
import { memoryStore } from '../stores/memory.js';
import type { Charge, Plan, PolicyStore, StoreReply } from '../stores/store.js';

/** Most subjects whose debts are remembered; those of further ones are not paid back. */
export const SUBJECTS_MAX = 10_000;
/** No subject has this name, so nothing is ever owed of it. */
const NOBODY = '';

/** What the store is owed for one limit of a subject. */
export interface Debt {
  readonly amount: number;
  /** Ms until nothing of it counts any more. */
  readonly resetAfterMs: number;
}

/** A memory store: it answers at once. */
type Memory = Required<Pick<PolicyStore, 'force'>> & PolicyStore;

/**
 * What was admitted here in place of the store, limit by limit, and as it would have aged there. Where use drains (a
 * bucket), what is owed begins to drain when the store's own use has, and by this process's part of the rate: all
 * processes together owe what the store's bucket would lack by now.
 */
export class Ledger {
  readonly #pages: readonly Page[];
  readonly #clock: Clock;
  /** By subject, when the store's own use of each limit will have run out. */
  readonly #drainedUs: Map<string, readonly number[]> = new Map();

  constructor({ policy, limits }: Plan, clock: Clock, partOf: () => Part) {
    this.#pages = limits.map((limit) => new Page(policy, limit, clock, partOf));
    this.#clock = clock;
  }

  /** The store goes away; its own use of a subject runs out after so long, limit by limit. */
  begin(subject: string, resetAfterMs: readonly number[]): void {
    if (!this.#pages.some(({ drains }) => drains)) return;
    const nowUs = this.#clock.nowUs();
    const name = shortSubject(subject);
    if (!this.#drainedUs.has(name) && this.#drainedUs.size >= SUBJECTS_MAX) {
      this.#drainedUs.delete(this.#drainedUs.keys().next().value as string);
    }
    this.#drainedUs.set(
      name,
      resetAfterMs.map((ms) => nowUs + ms * 1000),
    );
  }

  /** Adds the same to all limits, or to each its own. */
  add(subject: string, amounts: number | readonly number[], atUs: number): void {
    this.#pages.forEach((page, i) => {
      const amount = typeof amounts === 'number' ? amounts : (amounts[i] as number);
      void page.at(this.#atUs(subject, i, atUs)).force(subject, [amount]);
    });
  }

  owed(subject: string): readonly Debt[] {
    const nowUs = this.#clock.nowUs();
    return this.#pages.map((page, i) => {
      const atUs = this.#atUs(subject, i, nowUs);
      const [unused] = (page.at(atUs).peek(NOBODY, 0) as StoreReply).numbers;
      const [left, , resetAfterMs = 0] = (page.at(atUs).peek(subject, 0) as StoreReply).numbers;
      const amount = (unused as number) - (left as number);
      return { amount, resetAfterMs: amount === 0 ? 0 : resetAfterMs + Math.ceil((atUs - nowUs) / 1000) };
    });
  }

  /** Whether a debt is so large a part of what this process may admit that nothing must be asked before it is paid. */
  isLarge(subject: string): boolean {
    return this.owed(subject).some(({ amount }, i) => amount > 0 && amount * 10 >= (this.#pages[i]?.share ?? 0));
  }

  refund(charge: Charge): void {
    const nowUs = this.#clock.nowUs();
    this.#pages.forEach((page, i) => {
      const atUs = this.#atUs(charge.subject, i, charge.atUs);
      void page.at(this.#atUs(charge.subject, i, nowUs)).refund({ ...charge, atUs });
    });
  }

  /** Nothing is owed any more. */
  clear(subject: string): void {
    for (const page of this.#pages) void page.at(this.#clock.nowUs()).reset(subject);
  }

  /** Of a subject that the store knows nothing of either. */
  forget(subject: string): void {
    this.#drainedUs.delete(shortSubject(subject));
    this.clear(subject);
  }

  /** A time as a limit sees it: what drains stands still until the store's own use has. */
  #atUs(subject: string, i: number, atUs: number): number {
    if (this.#pages[i]?.drains !== true) return atUs;
    return Math.max(atUs, this.#drainedUs.get(shortSubject(subject))?.[i] ?? 0);
  }
}

/** The debts for one limit, on a clock that is set by hand. */
class Page {
  readonly drains: boolean;
  readonly #policy: string;
  readonly #limit: Plan['limits'][number];
  readonly #partOf: () => Part;
  readonly #store: ReturnType<typeof memoryStore>;
  #bound: { readonly processes: number; readonly memory: Memory } | undefined;
  #atUs = 0;

  constructor(policy: string, limit: Plan['limits'][number], { startTimer }: Clock, partOf: () => Part) {
    this.drains = limit.algorithm.drains === true;
    this.#policy = policy;
    this.#limit = limit;
    this.#partOf = partOf;
    const clock: Clock = { nowUs: () => this.#atUs, startTimer };
    // What it drops is not charged: fewer than would be refused otherwise, and nobody's to mend.
    this.#store = memoryStore({ maxSubjects: SUBJECTS_MAX, clock, onWarning: () => undefined });
  }

  at(us: number): Memory {
    this.#atUs = us;
    const part = this.#partOf();
    if (this.#bound?.processes !== part.processes) {
      const limits = [this.drains ? sharedLimit(this.#limit, part, this.#limit.limit) : this.#limit];
      const memory = this.#store.bind({ policy: this.#policy, limits }) as Memory;
      this.#bound = { processes: part.processes, memory };
    }
    return (this.#bound as { readonly memory: Memory }).memory;
  }

  /** What this process may admit of the limit. */
  get share(): number {
    return (this.#limit as Limit).limit / this.#partOf().processes;
  }
}

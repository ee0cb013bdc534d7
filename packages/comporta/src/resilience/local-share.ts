import type { Part } from '../algorithms/algorithm.js';
import { sharedLimit, shareOf } from '../algorithms/share.js';
import type { Clock } from '../core/time.js';
import { shortSubject } from '../stores/keyspace.js';
import { memoryStore } from '../stores/memory.js';
import type { Action, ActionReply, Plan, PolicyStore, Room, Store, StoreReply } from '../stores/store.js';
import { LastSeen, type Sight } from './last-seen.js';
import type { Debt } from './ledger.js';

/** Blocked subjects that are remembered; those of further ones begin an outage without their block. */
const BLOCKED_MAX = 10_000;

const NO_DEBT: Debt = { amount: 0, resetAfterMs: 0 };

/** What the store is not told of yet. */
interface Debts {
  owed(subject: string): readonly Debt[];
  begin(subject: string, resetAfterMs: readonly number[]): void;
}

/** A memory store: it answers at once. */
type Memory = Required<Pick<PolicyStore, 'assume'>> & PolicyStore;

/** The limits of one part. */
interface Bound {
  readonly part: Part;
  readonly store: Memory;
  /** The same with nothing in it, on a clock that is set by hand: to find out how a state ages. */
  readonly paper: Memory;
  /** Largest cost that every limit's part can admit. */
  readonly largestCost: number;
}

export interface LocalQuestion {
  readonly operation: 'consume' | 'peek';
  readonly subject: string;
  readonly cost: number;
  readonly id: string;
}

export interface LocalShareOptions {
  readonly clock: Clock;
  readonly partOf: () => Part;
  /** Begin with what the store said last of a subject; not where `memory` is that store. */
  readonly remembers: boolean;
}

/**
 * The stand-in for a store that does not answer: the same limits in memory, on this process's part of
 * what the store had left, so that all processes together keep near the limit.
 */
export class LocalShare {
  readonly #plan: Plan;
  readonly #memory: Store;
  readonly #options: LocalShareOptions;
  readonly #seen: LastSeen | undefined;
  /** Subjects that the store blocks, as far as remembered. */
  readonly #blocked: Set<string> = new Set();
  #bound: Bound | undefined;
  #paperUs = 0;

  constructor(plan: Plan, memory: Store, options: LocalShareOptions) {
    this.#plan = plan;
    this.#memory = memory;
    this.#options = options;
    this.#seen = options.remembers ? new LastSeen(plan.limits.length) : undefined;
  }

  /** What this process has of each limit while the store is away. */
  readonly partOf = (): Part => this.#options.partOf();

  /** The store said this of a subject. */
  saw(subject: string, { numbers, blockedMs }: StoreReply): void {
    if (this.#seen === undefined) return;
    if (numbers.length > 0) this.#seen.note(subject, this.#options.clock.nowUs(), numbers);
    if (this.#plan.blocks !== undefined) this.#block(subject, blockedMs);
  }

  /** The store said this after something was done to a subject beside deciding. */
  told(subject: string, { numbers }: StoreReply): void {
    if (numbers.length > 0) this.#seen?.note(subject, this.#options.clock.nowUs(), numbers);
  }

  /** A block was set or (0 ms) ended by hand. */
  block(subject: string, forMs: number): void {
    if (this.#seen === undefined) return;
    this.#block(subject, forMs > 0 ? forMs : undefined);
    if (forMs === 0) void this.#part().store.act?.({ kind: 'block', subject, cost: 0 });
  }

  /** Decides in place of the store, which knows nothing of the debts. */
  decide({ operation, subject, cost, id }: LocalQuestion, debts: Debts | undefined): StoreReply {
    const sight = this.#seen?.take(subject);
    if (sight !== undefined) this.#begin(subject, sight, debts);
    return this.#forCost(cost)[operation](subject, cost, undefined, undefined, id) as StoreReply;
  }

  /** As {@link LocalShare.decide}, for what is more than a plain decision. */
  act(action: Action, debts?: Debts): ActionReply {
    const sight = this.#seen?.take(action.subject);
    if (sight !== undefined) this.#begin(action.subject, sight, debts);
    const store = action.kind === 'reserve' ? this.#forCost(action.cost) : this.#part().store;
    return store.act?.(action) as ActionReply;
  }

  /** Who is blocked stays so in an outage; who is let in again is let in here too. */
  #block(subject: string, blockedMs: number | undefined): void {
    const name = shortSubject(subject);
    const isBlocked = this.#blocked.has(name);
    if (blockedMs === undefined && !isBlocked) return;
    if (!isBlocked && this.#blocked.size >= BLOCKED_MAX)
      this.#blocked.delete(this.#blocked.keys().next().value as string);
    if (blockedMs === undefined) this.#blocked.delete(name);
    else this.#blocked.add(name);
    void this.#part().store.act?.({ kind: 'block', subject, cost: blockedMs ?? 0 });
  }

  refund(charge: Parameters<PolicyStore['refund']>[0]): number {
    return this.#part().store.refund(charge) as number;
  }

  /** Drops what was seen and counted here; where this is the store itself, nothing. */
  forget(subject: string): void {
    if (this.#seen !== undefined) this.reset(subject);
  }

  reset(subject: string): number {
    this.#seen?.take(subject);
    return this.#part().store.reset(subject) as number;
  }

  /** Leaves a subject no more than its part of what the store had left, nor more than it has here already. */
  #begin(subject: string, sight: Sight, debts: Debts | undefined): void {
    const { store } = this.#part();
    const own = (store.peek(subject, 0) as StoreReply).numbers;
    const aged = this.#aged(subject, sight);
    const owed = debts?.owed(subject);
    debts?.begin(
      subject,
      this.#plan.limits.map((_, i) => roomAt(aged, i).resetAfterMs),
    );
    const rooms = this.#plan.limits.map((_, i): Room => {
      const here = roomAt(own, i);
      // What is as if unused leaves each its whole part.
      const seen = roomAt(sight.numbers, i).resetAfterMs === 0 ? here : roomAt(aged, i);
      const { amount, resetAfterMs } = owed?.[i] ?? NO_DEBT;
      return {
        remaining: Math.max(0, Math.min(here.remaining, seen.remaining - amount)),
        resetAfterMs: Math.max(here.resetAfterMs, seen.resetAfterMs, resetAfterMs),
      };
    });
    store.assume(subject, rooms);
  }

  /** This process's part of what was seen, as it has become by the limits' own rules since. */
  #aged(subject: string, { atUs, numbers }: Sight): readonly number[] {
    const { part, paper } = this.#part();
    this.#paperUs = atUs;
    paper.assume(
      subject,
      this.#plan.limits.map((_, i) => partOf(roomAt(numbers, i), part)),
    );
    this.#paperUs = this.#options.clock.nowUs();
    const reply = paper.peek(subject, 0) as StoreReply;
    paper.reset(subject);
    return reply.numbers;
  }

  /** The memory store on the present part. A request above the part but within the limit needs all of the part. */
  #forCost(cost: number): PolicyStore {
    const { part, store, largestCost } = this.#part();
    return cost <= largestCost ? store : this.#memory.bind(this.#planFor(part, cost));
  }

  #part(): Bound {
    const part = this.#options.partOf();
    if (this.#bound?.part.processes === part.processes && this.#bound.part.rank === part.rank) return this.#bound;
    const plan = this.#planFor(part, 1);
    const largestCost = Math.min(...plan.limits.map(({ limit }) => limit));
    const clock: Clock = { nowUs: () => this.#paperUs, startTimer: this.#options.clock.startTimer };
    const paper = memoryStore({ maxSubjects: 1, clock }).bind(plan) as Memory;
    this.#bound = { part, store: this.#memory.bind(plan) as Memory, paper, largestCost };
    return this.#bound;
  }

  #planFor(part: Part, atLeast: number): Plan {
    const limits = this.#plan.limits.map((limit) => sharedLimit(limit, part, atLeast));
    // Which terms stand is known before anything is asked here.
    return { ...this.#plan, haveTerms: false, limits };
  }
}

const roomAt = (numbers: readonly number[], i: number): Room => ({
  remaining: numbers[i * 4] as number,
  resetAfterMs: numbers[i * 4 + 2] as number,
});

const partOf = ({ remaining, resetAfterMs }: Room, part: Part): Room => ({
  remaining: shareOf(remaining, part, 0),
  resetAfterMs,
});

import type { Limit } from '../algorithms/algorithm.js';
import type { Waiter } from '../core/waiting.js';
import type { Asker } from '../resilience/asker.js';
import type { UnitLeases } from '../resilience/question.js';
import { Batcher } from '../stores/batch.js';
import { shortSubject } from '../stores/keyspace.js';
import type { Action, ActionReply, Charge, MaybePromise, Plan, PolicyStore, StoreReply } from '../stores/store.js';
import { nextId } from './decision.js';
import type { LeaseBook, Leased, Lessee } from './lease-book.js';
import type { SplitPlace } from './split.js';
import { type Ended, type Grant, replyOf } from './unit-lease.js';

/** One of those who ask for a subject that is leased. */
interface Item {
  readonly name: string;
  readonly subject: string;
  readonly cost: number;
  readonly waiter: Waiter;
}

/** Units that the store was asked for. */
interface Asked {
  readonly id: string;
  readonly sentUs: number;
  readonly untilUs: number;
}

type Answer = MaybePromise<StoreReply>;

type Operation = 'consume' | 'peek';

/** How leases reach the store for nobody who waits. */
export interface Unwaited {
  readonly asker: Asker;
  refund(charge: Charge): Promise<unknown>;
}

/** Those of one subject who wait while its units are fetched, and are then asked for together. */
const TOGETHER_MAX = 256;

/** Limits that leases are of. */
interface LeasedLimits {
  readonly limits: Plan['limits'];
  /** Where they are one part's of others. */
  readonly place: SplitPlace | undefined;
  /** Whether some subjects of the policy are split. */
  readonly isSplit: boolean;
}

/** The leases of the subjects that some limits decide for. */
export class LimitsLeases implements UnitLeases, Lessee {
  readonly #book: LeaseBook;
  readonly #store: PolicyStore;
  /** Of the limits, the fewest that all processes may hold at once. */
  readonly #units: number;
  /** Begins the names of subjects, so that each part of one has a lease of its own. */
  readonly #tag: string;
  /** By limit: it begins anew for everybody at once. */
  readonly #areBounded: readonly boolean[];
  readonly #unwaited: Unwaited;
  readonly #batcher: Batcher<Item, Answer>;

  constructor(book: LeaseBook, store: PolicyStore, { limits, place, isSplit }: LeasedLimits, unwaited: Unwaited) {
    this.#book = book;
    this.#store = store;
    const units = Math.min(...(place?.whole ?? limits).map((limit) => book.rule.unitsOf(limit)));
    this.#units = Math.floor(units / (place?.part.processes ?? 1));
    this.#tag = isSplit ? `${place?.part.rank ?? ''}/` : '';
    this.#areBounded = limits.map(isBounded);
    this.#unwaited = unwaited;
    const carrier = {
      itemsMax: TOGETHER_MAX,
      one: async (item: Item, waiter: Waiter) => (await this.#answers([item], waiter))[0] as Answer,
      many: (items: readonly Item[], waiter: Waiter) => this.#answers(items, waiter),
    };
    this.#batcher = new Batcher(carrier, 1);
  }

  answer(operation: Operation, subject: string, cost: number): StoreReply | undefined {
    if (this.#book.size === 0) return undefined;
    const leased = this.#book.get(this.#nameOf(subject));
    if (leased?.by !== this) return undefined;
    const nowUs = this.#book.nowUs();
    if (operation === 'peek') return leased.lease.peek(cost, nowUs);
    const reply = this.#take(leased, cost, nowUs);
    if (leased.lease.isLow(nowUs)) this.#fetchNext(leased, nowUs);
    return reply;
  }

  ask(operation: Operation, subject: string, cost: number, waiter: Waiter): Promise<StoreReply> | undefined {
    const part = operation === 'peek' ? 0 : this.#part();
    if (part === 0 || cost > part) return undefined;
    const name = this.#nameOf(subject);
    if (this.#book.open(name, subject, this) === undefined) return undefined;
    return this.#batcher.ask(name, { name, subject, cost, waiter }, waiter) as Promise<StoreReply>;
  }

  drop(subject: string, isForgotten: boolean): void {
    if (this.#book.size > 0) this.#book.drop(this.#nameOf(subject), isForgotten);
  }

  giveBack(subject: string, { grant, left }: Ended): Promise<unknown> {
    const isPart = left < grant.units;
    return this.#unwaited.refund({
      subject,
      decisionId: grant.id,
      atUs: grant.atUs,
      amount: left,
      ...(isPart && { isPart }),
    });
  }

  /** Of the units that are there as far as they go; for the others the store is asked, in one call. */
  async #answers(items: readonly Item[], waiter: Waiter): Promise<readonly Answer[]> {
    const { name } = items[0] as Item;
    const coming = this.#book.get(name)?.coming;
    // They are here sooner than what would be asked for now.
    if (coming !== undefined) await coming;
    const nowUs = this.#book.nowUs();
    const leased = this.#book.get(name);
    if (leased?.by !== this || leased.lease.isAsked(nowUs)) return items.map((item) => this.#plain(item));
    const answers: (Answer | undefined)[] = items.map(({ cost }) => this.#take(leased, cost, nowUs));
    const others = items.filter((_, i) => answers[i] === undefined);
    if (others.length === 0) return answers as Answer[];
    void this.#book.giveBack(leased, leased.lease.end(nowUs));
    const found = await this.#fetch(leased, others, waiter, nowUs);
    return answers.map((answer) => answer ?? (found.shift() as Answer));
  }

  /** Of the grant in use, else of the next one. */
  #take(leased: Leased, cost: number, nowUs: number): StoreReply | undefined {
    const { lease } = leased;
    const reply = lease.take(cost, nowUs);
    if (reply !== undefined || !lease.hasNext) return reply;
    void this.#book.giveBack(leased, lease.end(nowUs));
    return lease.take(cost, nowUs);
  }

  /** Before what is held is used up, so that nobody waits. */
  #fetchNext(leased: Leased, nowUs: number): void {
    const settle = (): void => {
      leased.coming = undefined;
    };
    const start = (waiter: Waiter) => this.#fetch(leased, [], waiter, nowUs);
    const asking = { subject: leased.subject, signal: undefined, timeoutMs: undefined, start };
    // Failures are told of by the next who asks.
    leased.coming = this.#unwaited.asker.ask({ ...asking, onValue: settle, onError: settle });
  }

  /** Asks for what is needed at once and, ahead of that, for a new lease. */
  async #fetch(leased: Leased, items: readonly Item[], waiter: Waiter, sentUs: number): Promise<Answer[]> {
    const { lease, subject } = leased;
    const untilUs = sentUs + this.#book.rule.lastsMs * 1000;
    const ahead = lease.ask(this.#part(), untilUs);
    if (ahead === 0) return items.map((item) => this.#plain(item));
    const needed = items.reduce((sum, { cost }) => sum + cost, 0);
    const action: Action = { kind: 'take', subject, cost: needed + ahead, id: nextId() };
    try {
      const reply = (await this.#store.act?.(action, waiter)) as ActionReply;
      return this.#divide(leased, items, { id: action.id, sentUs, untilUs }, reply);
    } catch (error) {
      lease.heard(untilUs, 0);
      throw error;
    }
  }

  /** First for those who asked, in their order; what is left then is the lease. */
  #divide(leased: Leased, items: readonly Item[], asked: Asked, reply: ActionReply): Answer[] {
    const { atUs, numbers } = reply;
    const heardUs = this.#book.nowUs();
    const untilUs = this.#until(asked, numbers);
    const base: Grant = { id: asked.id, atUs, numbers, units: 0, sentUs: asked.sentUs, heardUs, untilUs };
    let left = reply.word;
    const answers = items.map(({ cost }): Answer | undefined => {
      // A reply is about a cost of 1; blocked subjects have no numbers, whatever is asked.
      if (cost > left) return cost === 1 || numbers.length === 0 ? reply : undefined;
      left -= cost;
      return replyOf(base, left, heardUs);
    });
    const isShort = answers.includes(undefined);
    leased.lease.heard(asked.untilUs, left);
    this.#keep(leased, { ...base, units: left }, isShort);
    // After what is given back, which they may need.
    return answers.map((answer, i) => answer ?? this.#plain(items[i] as Item));
  }

  /** Too late for use, or more than may be held by now: then it is given back at once. */
  #keep(leased: Leased, grant: Grant, isShort: boolean): void {
    const { lease, name } = leased;
    const isKept = this.#book.get(name) === leased && !isShort && lease.held + grant.units <= this.#part();
    if (grant.units === 0) return;
    if (isKept && grant.heardUs < grant.untilUs) lease.put(grant);
    else void this.#book.giveBack(leased, { grant, left: grant.units });
  }

  /** From when it was asked for, so that no way is too long; and not beyond a window's end, to the millisecond. */
  #until({ sentUs, untilUs }: Asked, numbers: readonly number[]): number {
    const ends = this.#areBounded.map((is, i) => (is ? sentUs + ((numbers[i * 4 + 2] ?? 0) - 1) * 1000 : untilUs));
    return Math.min(untilUs, ...ends);
  }

  #nameOf(subject: string): string {
    return this.#tag === '' ? shortSubject(subject) : this.#tag + shortSubject(subject);
  }

  #part(): number {
    return this.#book.partOf(this.#units);
  }

  #plain({ subject, cost, waiter }: Item): Answer {
    return this.#store.consume(subject, cost, waiter);
  }
}

const isBounded = ({ algorithm }: Limit): boolean => algorithm.name === 'fixedWindow' || algorithm.name === 'quota';

import type { Clock } from '../core/time.js';
import type { Waiter } from '../core/waiting.js';
import { reservedName } from './gates.js';
import { shortSubject } from './keyspace.js';
import { MemoryGates } from './memory-gates.js';
import { MemoryLimits, type Moment, momentOf } from './memory-limits.js';
import { MemoryReservations } from './memory-reservations.js';
import type { MemoryTable } from './memory-table.js';
import {
  type Action,
  type ActionReply,
  type Charge,
  type Plan,
  type PolicyStore,
  type Room,
  refundTtlMs,
  type StoreReply,
  type Terms,
} from './store.js';

/** Refused, and waiting would have helped. */
const isAvoidable = (numbers: readonly number[]): boolean => {
  const waits = numbers.filter((_, i) => i % 4 === 1);
  return waits.some((waitMs) => waitMs > 0) && waits.every((waitMs) => waitMs >= 0);
};

/** The memory store as one policy sees it; tests look into its tables. */
export class MemoryPolicy implements PolicyStore {
  readonly isLocal = true;
  readonly #limits: MemoryLimits;
  readonly #refunds: MemoryTable;
  readonly #reservations: MemoryReservations;
  readonly #gates: MemoryGates | undefined;
  readonly #clock: Clock;
  readonly #refundTtlMs: number;

  constructor(plan: Plan, tableOf: (name: string) => MemoryTable, clock: Clock) {
    const tables = plan.limits.map((limit) => tableOf(`${plan.policy}:${limit.id}:${limit.algorithm.tag}`));
    this.#limits = new MemoryLimits(plan.limits, tables);
    this.#refunds = tableOf(`${plan.policy}:refund`);
    this.#refundTtlMs = refundTtlMs(plan);
    this.#reservations = new MemoryReservations(
      this.#limits,
      tableOf(`${plan.policy}:${reservedName(plan)}`),
      this.#refundTtlMs,
    );
    const isGated = plan.blocks !== undefined || plan.haveTerms === true;
    this.#gates = isGated ? new MemoryGates(plan, tableOf) : undefined;
    this.#clock = clock;
  }

  consume(text: string, cost: number, _waiter?: Waiter, terms?: Terms, id = ''): StoreReply {
    const subject = shortSubject(text);
    const atUs = this.#clock.nowUs();
    if (this.#gates !== undefined) return this.#consumeBehind(this.#gates, subject, cost, atUs, terms, id);
    return { atUs, numbers: this.#limits.consume(subject, cost, atUs, id) };
  }

  #consumeBehind(
    gates: MemoryGates,
    subject: string,
    cost: number,
    atUs: number,
    terms: Terms | undefined,
    id: string,
  ): StoreReply {
    const at = momentOf(atUs);
    const shut = gates.check(subject, at, true, terms);
    if (shut !== undefined) return { atUs, numbers: [], ...shut };
    const numbers = this.#limits.consume(subject, cost, atUs, id);
    const punished = isAvoidable(numbers) ? gates.refused(subject, at) : undefined;
    return punished === undefined ? { atUs, numbers } : { atUs, numbers: [], ...punished };
  }

  peek(text: string, cost: number, _waiter?: Waiter, terms?: Terms): StoreReply {
    const [subject, at] = [shortSubject(text), this.#now()];
    const shut = this.#gates?.check(subject, at, false, terms);
    if (shut !== undefined) return { atUs: at.us, numbers: [], ...shut };
    return { atUs: at.us, numbers: this.#limits.numbers(subject, cost, at) };
  }

  force(text: string, amounts: readonly number[]): number {
    const [subject, at] = [shortSubject(text), this.#now()];
    let charged = 0;
    this.#limits.evaluate(subject, 0, at).forEach(({ state }, i) => {
      if (this.#limits.limits[i]?.algorithm.holds) return;
      const amount = Math.min(amounts[i] ?? 0, this.#limits.remaining(i, state, at));
      // Written so that what is no number charges nothing.
      if (!(amount > 0)) return;
      charged += amount;
      this.#limits.commit(i, subject, state, amount, at);
    });
    return charged;
  }

  refund({ subject: text, decisionId, atUs, amount, isPart }: Charge): number {
    const [subject, at] = [shortSubject(text), this.#now()];
    if (this.#isMarked(subject, decisionId, at)) return 0;
    const given = this.#limits.giveBack(subject, amount, atUs, at, isPart === true ? '' : decisionId);
    if (given > 0) this.#mark(subject, decisionId, this.#refundTtlMs, at);
    return given;
  }

  assume(text: string, rooms: readonly Room[]): void {
    this.#limits.assume(shortSubject(text), rooms, this.#now());
  }

  reset(text: string): number {
    const [subject, at] = [shortSubject(text), this.#now()];
    const gates = this.#gates?.reset(subject, at) ?? 0;
    return this.#limits.reset(subject, at) + this.#reservations.reset(subject, at) + gates;
  }

  act(action: Action, _waiter?: Waiter, terms?: Terms): ActionReply {
    const [subject, at] = [shortSubject(action.subject), this.#now()];
    switch (action.kind) {
      case 'take':
      case 'reserve': {
        const shut = this.#gates?.check(subject, at, true, terms);
        if (shut !== undefined) return { atUs: at.us, word: 0, numbers: [], ...shut };
        if (action.kind === 'reserve') return this.#reservations.reserve(subject, action, at);
        return this.#told(subject, this.#limits.take(subject, action.cost, at, action.id), at);
      }
      case 'settle':
        return this.#told(subject, this.#settle(subject, action, at), at);
      case 'charge':
      case 'reward':
        this.#limits[action.kind](subject, action.cost, at);
        return this.#told(subject, 1, at);
      case 'release':
      case 'renew':
        return { atUs: at.us, word: this.#limits[action.kind](subject, at, action.id), numbers: [] };
      case 'block':
        return { atUs: 0, word: Number(this.#gates?.block(subject, action.cost, at) ?? false), numbers: [] };
      case 'setTerms': {
        const isDone = this.#gates?.setTerms(subject, action.terms, action.cost, at) ?? false;
        return { atUs: 0, word: Number(isDone), numbers: [] };
      }
    }
  }

  #told(subject: string, word: number, at: Moment): ActionReply {
    return { atUs: at.us, word, numbers: this.#limits.numbers(subject, 1, at) };
  }

  #settle(subject: string, action: Extract<Action, { kind: 'settle' }>, at: Moment): number {
    if (this.#isMarked(subject, action.id, at)) return 0;
    if (!this.#reservations.settle(subject, action, at)) return -1;
    this.#mark(subject, action.id, Math.max(this.#refundTtlMs, action.holdMs), at);
    return 1;
  }

  #isMarked(subject: string, decisionId: string, at: Moment): boolean {
    return this.#refunds.get(`${subject}:${decisionId}`, at.ms) !== undefined;
  }

  #mark(subject: string, decisionId: string, lastsMs: number, at: Moment): void {
    this.#refunds.set(`${subject}:${decisionId}`, true, at.ms + lastsMs, 1, at.ms);
  }

  #now(): Moment {
    return momentOf(this.#clock.nowUs());
  }
}

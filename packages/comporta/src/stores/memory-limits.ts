import { argumentsAt, type Due, type Evaluation, type Limit } from '../algorithms/algorithm.js';
import type { MemoryTable } from './memory-table.js';
import type { Room } from './store.js';

/** One moment, in the units of both clocks. */
export interface Moment {
  readonly us: number;
  readonly ms: number;
}

export const momentOf = (us: number): Moment => ({ us, ms: Math.floor(us / 1000) });

/** The limits of one policy with the tables that hold their states: what every operation is made of. */
export class MemoryLimits {
  readonly limits: readonly Limit[];
  readonly #tables: readonly MemoryTable[];

  constructor(limits: readonly Limit[], tables: readonly MemoryTable[]) {
    this.limits = limits;
    this.#tables = tables;
  }

  evaluate(subject: string, cost: number, at: Moment): Evaluation<unknown>[] {
    // Of its length from the start, here and below: a list that grows takes room for sixteen.
    const evaluations = new Array<Evaluation<unknown>>(this.limits.length);
    for (let i = 0; i < this.limits.length; i++) {
      const limit = this.limits[i] as Limit;
      const state = (this.#tables[i] as MemoryTable).get(subject, at.ms);
      const args = argumentsAt(limit, at.ms);
      evaluations[i] = limit.algorithm.evaluate(state, inUnit(limit.algorithm, at), cost, args);
    }
    return evaluations;
  }

  /** Decides and charges all limits or none; four numbers per limit. */
  consume(subject: string, cost: number, nowUs: number, holder: string): number[] {
    const { length } = this.limits;
    // Of its length from the start: a list that grows takes room for sixteen.
    const numbers = length === 1 ? [cost, 0, 0, 0] : new Array<number>(length * 4);
    this.#consumeFrom(0, true, subject, cost, nowUs, holder, numbers);
    return numbers;
  }

  /**
   * Evaluates limit `i` and, by itself, those after it; on the way back, when it is known whether all of them admit,
   * charges each. So what is between the two needs no list. Whether all admit.
   */
  #consumeFrom(
    i: number,
    isFree: boolean,
    subject: string,
    cost: number,
    nowUs: number,
    holder: string,
    numbers: number[],
  ): boolean {
    const limit = this.limits[i] as Limit;
    const table = this.#tables[i] as MemoryTable;
    const { algorithm } = limit;
    const nowMs = Math.floor(nowUs / 1000);
    const args = argumentsAt(limit, nowMs);
    const now = algorithm.clock === 'us' ? nowUs : nowMs;
    const slot = table.find(subject, nowMs);
    const { state: before, retryAfterMs, stepped } = algorithm.evaluate(slot?.state, now, cost, args);
    let isAdmitted = isFree && retryAfterMs === 0;
    if (i + 1 < this.limits.length) {
      isAdmitted = this.#consumeFrom(i + 1, isAdmitted, subject, cost, nowUs, holder, numbers);
    }
    const isStored = stepped || (isAdmitted && cost > 0);
    const state = isStored ? algorithm.commit(before, now, isAdmitted ? cost : 0, args, holder, slot?.state) : before;
    const { remaining, resetAfterMs, nextAfterMs } = algorithm.describe(state, now, args);
    if (isStored) {
      const size = algorithm.sizeOf?.(state) ?? 1;
      table.put(slot, subject, state, nowMs + algorithm.ttlMs(state, now, args, resetAfterMs), size, nowMs);
    }
    numbers[i * 4] = remaining;
    numbers[i * 4 + 1] = retryAfterMs;
    numbers[i * 4 + 2] = resetAfterMs;
    numbers[i * 4 + 3] = nextAfterMs;
    return isAdmitted;
  }

  /** Charges as much of `most` as every limit has room for. */
  take(subject: string, most: number, at: Moment, holder: string): number {
    const evaluations = this.evaluate(subject, 1, at);
    const rooms = evaluations.map(({ state }, i) => (this.#holds(i) ? most : this.remaining(i, state, at)));
    const amount = evaluations.every(isAdmitted) ? Math.min(most, ...rooms) : 0;
    if (amount > 0) evaluations.forEach(({ state }, i) => void this.commit(i, subject, state, amount, at, holder));
    return amount;
  }

  /** Stores limit `i` charged with `amount`; gives the state that is stored. */
  commit(i: number, subject: string, state: unknown, amount: number, at: Moment, holder = ''): unknown {
    const limit = this.limits[i] as Limit;
    const { algorithm } = limit;
    const args = argumentsAt(limit, at.ms);
    const charged = algorithm.commit(state, inUnit(algorithm, at), amount, args, holder);
    this.#store(i, subject, charged, at);
    return charged;
  }

  /** Charges every limit that counts costs `amount`, whether it has room or not. */
  charge(subject: string, amount: number, at: Moment): void {
    this.evaluate(subject, 0, at).forEach(({ state }, i) => {
      if (!this.#holds(i)) this.commit(i, subject, state, amount, at);
    });
  }

  /** Gives back `amount` of a charge made at `atUs`, and the holder's places; number of limits that gave. */
  giveBack(subject: string, amount: number, atUs: number, at: Moment, holder = ''): number {
    return this.#change(subject, at, (state, now, { algorithm }, args) =>
      algorithm.refund(state, now, amount, atUs, args, holder),
    );
  }

  /** Gives back charges and the places of their holders, of all that are due at once. */
  giveBackAll(subject: string, charges: readonly Due[], at: Moment): void {
    this.#change(subject, at, (state, now, { algorithm }, args) => {
      if (algorithm.refundAll !== undefined) return algorithm.refundAll(state, now, charges, args);
      const refund = (rest: unknown, { id, cost, atUs }: Due): unknown =>
        algorithm.refund(rest, now, cost, atUs, args, id) ?? rest;
      const rest = charges.reduce(refund, state);
      return rest === state ? undefined : rest;
    });
  }

  /** Gives back the newest use. */
  reward(subject: string, amount: number, at: Moment): void {
    this.#change(subject, at, (state, now, { algorithm }, args) =>
      algorithm.reward === undefined
        ? algorithm.refund(state, now, amount, at.us, args, '')
        : algorithm.reward(state, now, amount, args),
    );
  }

  /** Frees the holder's places; number of limits where it had one. */
  release(subject: string, at: Moment, holder: string): number {
    return this.#change(subject, at, (state, now, { algorithm }, args) =>
      algorithm.holds ? algorithm.refund(state, now, 0, 0, args, holder) : undefined,
    );
  }

  /** Holds the holder's places for another lease; number of limits where it has one. */
  renew(subject: string, at: Moment, holder: string): number {
    const empty = this.evaluate(subject, 0, at);
    return this.#change(
      subject,
      at,
      (state, now, { algorithm }, args) => algorithm.renew?.(state, now, args, holder),
      (i) => empty[i]?.state,
    );
  }

  /** Stores what `change` makes of the states that there are, where it makes something of them. */
  #change(
    subject: string,
    at: Moment,
    change: (state: unknown, now: number, limit: Limit, args: readonly number[]) => unknown,
    stateWithout: (i: number) => unknown = () => undefined,
  ): number {
    const changed = this.limits.filter((limit, i) => {
      const state = (this.#tables[i] as MemoryTable).get(subject, at.ms) ?? stateWithout(i);
      const next = state && change(state, inUnit(limit.algorithm, at), limit, argumentsAt(limit, at.ms));
      if (next === undefined) return false;
      this.#store(i, subject, next, at);
      return true;
    });
    return changed.length;
  }

  #holds(i: number): boolean {
    return this.limits[i]?.algorithm.holds === true;
  }

  remaining(i: number, state: unknown, at: Moment): number {
    const limit = this.limits[i] as Limit;
    const { algorithm } = limit;
    const args = argumentsAt(limit, at.ms);
    return algorithm.describe(state, inUnit(algorithm, at), args).remaining;
  }

  /** Writes the four numbers of limit `i` to their places. */
  describe(numbers: number[], i: number, state: unknown, retryAfterMs: number, at: Moment): void {
    const limit = this.limits[i] as Limit;
    const { algorithm } = limit;
    const args = argumentsAt(limit, at.ms);
    const { remaining, resetAfterMs, nextAfterMs } = algorithm.describe(state, inUnit(algorithm, at), args);
    const first = i * 4;
    numbers[first] = remaining;
    numbers[first + 1] = retryAfterMs;
    numbers[first + 2] = resetAfterMs;
    numbers[first + 3] = nextAfterMs;
  }

  /** Four numbers per limit, as a request of `cost` would find them. */
  numbers(subject: string, cost: number, at: Moment): number[] {
    const numbers = new Array<number>(this.limits.length * 4);
    this.evaluate(subject, cost, at).forEach(({ state, retryAfterMs }, i) => {
      this.describe(numbers, i, state, retryAfterMs, at);
    });
    return numbers;
  }

  /** Puts each limit into a state that describes itself so. */
  assume(subject: string, rooms: readonly Room[], at: Moment): void {
    rooms.forEach(({ remaining, resetAfterMs }, i) => {
      const limit = this.limits[i] as Limit;
      const { algorithm } = limit;
      const args = argumentsAt(limit, at.ms);
      this.#store(i, subject, algorithm.assume(remaining, resetAfterMs, inUnit(algorithm, at), args), at);
    });
  }

  /** Number of states removed. */
  reset(subject: string, at: Moment): number {
    return this.#tables.filter((table) => table.get(subject, at.ms) !== undefined && table.delete(subject)).length;
  }

  #store(i: number, subject: string, state: unknown, at: Moment): void {
    const limit = this.limits[i] as Limit;
    const { algorithm } = limit;
    const args = argumentsAt(limit, at.ms);
    const size = algorithm.sizeOf?.(state) ?? 1;
    const now = inUnit(algorithm, at);
    const ttlMs = algorithm.ttlMs(state, now, args, algorithm.describe(state, now, args).resetAfterMs);
    (this.#tables[i] as MemoryTable).set(subject, state, at.ms + ttlMs, size, at.ms);
  }
}

const inUnit = (algorithm: Limit['algorithm'], at: Moment): number => (algorithm.clock === 'us' ? at.us : at.ms);

const isAdmitted = ({ retryAfterMs }: Evaluation<unknown>): boolean => retryAfterMs === 0;

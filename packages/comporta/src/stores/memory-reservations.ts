import type { MemoryLimits, Moment } from './memory-limits.js';
import type { MemoryTable } from './memory-table.js';
import type { Action, ActionReply } from './store.js';

/** A cost that is charged until somebody settles it or its time is over. */
interface Reserved {
  readonly id: string;
  readonly cost: number;
  readonly atUs: number;
  readonly untilUs: number;
}

type Reserve = Extract<Action, { kind: 'reserve' }>;
type Settle = Extract<Action, { kind: 'settle' }>;

/** Most reservations that one call gives back for callers that died, as in Redis. */
const SWEPT_MAX = 100;

/** Reservations of one policy in memory; the twin of the scripts `reserve` and `settle`. */
export class MemoryReservations {
  readonly #limits: MemoryLimits;
  /** Per subject, ordered by their ends and, among equals, by their ids. */
  readonly #pending: MemoryTable;
  /** How long a note outlives its end: until the charge counts no more. */
  readonly #keptMs: number;

  constructor(limits: MemoryLimits, pending: MemoryTable, keptMs: number) {
    this.#limits = limits;
    this.#pending = pending;
    this.#keptMs = keptMs;
  }

  reserve(subject: string, { id, cost, holdMs }: Reserve, at: Moment): ActionReply {
    this.#sweep(subject, at);
    const numbers = this.#limits.consume(subject, cost, at.us, id);
    const isAdmitted = numbers.every((number, i) => i % 4 !== 1 || number === 0);
    if (isAdmitted) this.#note(subject, { id, cost, atUs: at.us, untilUs: at.us + holdMs * 1000 }, at);
    return { atUs: at.us, word: isAdmitted ? 1 : 0, numbers };
  }

  /** Puts the real cost in place of the reserved one; false when it is too late for that. */
  settle(subject: string, { id, cost, reserved, atUs, holdMs, isNoted }: Settle, at: Moment): boolean {
    if (at.us >= atUs + holdMs * 1000 || (isNoted && !this.#drop(subject, { id, cost: reserved, atUs }, at)))
      return false;
    this.#limits.release(subject, at, id);
    if (cost < reserved) this.#limits.giveBack(subject, reserved - cost, atUs, at);
    if (cost > reserved) this.#limits.charge(subject, cost - reserved, at);
    return true;
  }

  reset(subject: string, at: Moment): number {
    return this.#pending.get(subject, at.ms) !== undefined && this.#pending.delete(subject) ? 1 : 0;
  }

  /** Ordered by their ends, so that those that are due stand first. */
  #sweep(subject: string, at: Moment): void {
    const all = this.#of(subject, at);
    let due = 0;
    while (due < SWEPT_MAX && (all[due]?.untilUs ?? Number.POSITIVE_INFINITY) <= at.us) due++;
    if (due === 0) return;
    this.#keep(subject, all.slice(due), at);
    this.#limits.giveBackAll(subject, all.slice(0, due), at);
  }

  /** Only the very note: what a caller hands in may have been altered. */
  #drop(subject: string, { id, cost, atUs }: Omit<Reserved, 'untilUs'>, at: Moment): boolean {
    const before = this.#of(subject, at);
    const index = before.findIndex((noted) => noted.id === id && noted.cost === cost && noted.atUs === atUs);
    if (index >= 0) this.#keep(subject, before.toSpliced(index, 1), at);
    return index >= 0;
  }

  #keep(subject: string, rest: readonly Reserved[], at: Moment): void {
    const leftMs = this.#pending.ttlMs(subject, at.ms) ?? 0;
    if (rest.length === 0) this.#pending.delete(subject);
    else this.#pending.set(subject, rest, at.ms + leftMs, rest.length, at.ms);
  }

  #note(subject: string, reserved: Reserved, at: Moment): void {
    const before = this.#of(subject, at);
    const index = before.findLastIndex((other) => isBefore(other, reserved)) + 1;
    const all = before.toSpliced(index, 0, reserved);
    const lastMs = Math.ceil(((all.at(-1) as Reserved).untilUs - at.us) / 1000);
    this.#pending.set(subject, all, at.ms + lastMs + this.#keptMs, all.length, at.ms);
  }

  #of(subject: string, at: Moment): readonly Reserved[] {
    return (this.#pending.get(subject, at.ms) as readonly Reserved[] | undefined) ?? [];
  }
}

const isBefore = (a: Reserved, b: Reserved): boolean =>
  a.untilUs === b.untilUs ? `${a.id}:` < `${b.id}:` : a.untilUs < b.untilUs;

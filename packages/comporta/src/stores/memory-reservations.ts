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
    const numbers = this.#limits.consume(subject, cost, at, id);
    const isAdmitted = numbers.every((number, i) => i % 4 !== 1 || number === 0);
    if (isAdmitted) this.#note(subject, { id, cost, atUs: at.us, untilUs: at.us + holdMs * 1000 }, at);
    return { atUs: at.us, word: isAdmitted ? 1 : 0, numbers };
  }

  /** Puts the real cost in place of the reserved one; false when it is too late for that. */
  settle(subject: string, { id, cost, reserved, atUs, holdMs, isNoted }: Settle, at: Moment): boolean {
    if (at.us >= atUs + holdMs * 1000 || (isNoted && !this.#drop(subject, id, at))) return false;
    this.#limits.release(subject, at, id);
    if (cost < reserved) this.#limits.giveBack(subject, reserved - cost, atUs, at);
    if (cost > reserved) this.#limits.charge(subject, cost - reserved, at);
    return true;
  }

  reset(subject: string, at: Moment): number {
    return this.#pending.get(subject, at.ms) !== undefined && this.#pending.delete(subject) ? 1 : 0;
  }

  #sweep(subject: string, at: Moment): void {
    const due = this.#of(subject, at).filter(({ untilUs }) => untilUs <= at.us);
    for (const { id, cost, atUs } of due.slice(0, SWEPT_MAX)) {
      this.#drop(subject, id, at);
      this.#limits.giveBack(subject, cost, atUs, at, id);
    }
  }

  #drop(subject: string, id: string, at: Moment): boolean {
    const before = this.#of(subject, at);
    const rest = before.filter((reserved) => reserved.id !== id);
    if (rest.length === before.length) return false;
    const leftMs = this.#pending.ttlMs(subject, at.ms) ?? 0;
    if (rest.length === 0) this.#pending.delete(subject);
    else this.#pending.set(subject, rest, at.ms + leftMs, rest.length, at.ms);
    return true;
  }

  #note(subject: string, reserved: Reserved, at: Moment): void {
    const all = [...this.#of(subject, at), reserved];
    all.sort((a, b) => a.untilUs - b.untilUs || (`${a.id}:` < `${b.id}:` ? -1 : 1));
    const lastMs = Math.ceil(((all.at(-1) as Reserved).untilUs - at.us) / 1000);
    this.#pending.set(subject, all, at.ms + lastMs + this.#keptMs, all.length, at.ms);
  }

  #of(subject: string, at: Moment): readonly Reserved[] {
    return (this.#pending.get(subject, at.ms) as readonly Reserved[] | undefined) ?? [];
  }
}

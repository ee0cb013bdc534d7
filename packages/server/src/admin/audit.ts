import type { Log } from '../log.js';
import { nowMs } from '../time.js';

/** One operation that somebody asked for. */
export interface AuditEntry {
  readonly time: string;
  /** Name of the token. */
  readonly who: string;
  readonly operation: string;
  readonly policy?: string;
  readonly subject?: string;
  /** What else was asked for, such as a duration, as JSON. */
  readonly details?: string;
  readonly result: 'done' | 'refused' | 'failed';
  readonly status: number;
}

/** An operation as it is recorded. */
export type AuditedOperation = Omit<AuditEntry, 'time' | 'result'>;

const KEPT_MAX = 1000;
/** Who may only look can make these as well, and must not drive out the others by them. */
const REFUSED_MAX = 100;

interface Kept {
  readonly number: number;
  readonly entry: AuditEntry;
}

/** The last operations in memory, and a line in the log for each. */
export class Audit {
  readonly #log: Log;
  readonly #entries: Kept[] = [];
  readonly #refused: Kept[] = [];
  #count = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  record({ status, ...asked }: AuditedOperation): void {
    const result = status < 300 ? 'done' : status < 500 ? 'refused' : 'failed';
    const entry = { time: new Date(nowMs()).toISOString(), ...asked, result, status } as const;
    const [list, max] = result === 'refused' ? [this.#refused, REFUSED_MAX] : [this.#entries, KEPT_MAX];
    list.push({ number: this.#count++, entry });
    if (list.length > max) list.shift();
    this.#log.info('admin operation', { ...asked, result, status });
  }

  /** The newest first. */
  latest(count: number): readonly AuditEntry[] {
    const all = [...this.#entries, ...this.#refused].sort((a, b) => b.number - a.number);
    return all.slice(0, count).map(({ entry }) => entry);
  }
}

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

/** The last operations in memory, and a line in the log for each. */
export class Audit {
  readonly #log: Log;
  readonly #entries: AuditEntry[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  record({ status, ...asked }: AuditedOperation): void {
    const result = status < 300 ? 'done' : status < 500 ? 'refused' : 'failed';
    this.#entries.push({ time: new Date(nowMs()).toISOString(), ...asked, result, status });
    if (this.#entries.length > KEPT_MAX) this.#entries.shift();
    this.#log.info('admin operation', { ...asked, result, status });
  }

  /** The newest first. */
  latest(count: number): readonly AuditEntry[] {
    return this.#entries.slice(-count).reverse();
  }
}

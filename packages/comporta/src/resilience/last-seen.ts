import { shortSubject } from '../stores/keyspace.js';

/** What the store last said of a subject. */
export interface Sight {
  /** When it was heard, by this process's clock. */
  readonly atUs: number;
  /** Four numbers per limit, as in a reply of a store. */
  readonly numbers: readonly number[];
}

/** Subjects remembered; of those that are heard of, at least the last half. */
const SUBJECTS_MAX = 10_000;
/** For so many there is room at first. */
const ROOM = 64;

/**
 * What the store said last of the subjects that were in use last: 10 000 at most, each of which has a row. Rows are
 * taken in turn; who is heard of in an old one moves to a new one, so busy subjects stay. Numbers are copied into one
 * array: to keep those of every reply would make much of what lives for one decision outlast the collection of garbage.
 */
export class LastSeen {
  readonly #width: number;
  readonly #rows: Map<string, number> = new Map();
  readonly #names: string[] = [];
  #next = 0;
  /** By row: when it was heard, and the numbers. */
  #values: Float64Array;

  constructor(limits: number) {
    this.#width = 1 + 4 * limits;
    this.#values = new Float64Array(ROOM * this.#width);
  }

  note(subject: string, atUs: number, numbers: readonly number[]): void {
    const from = this.#rowFor(shortSubject(subject)) * this.#width;
    const values = this.#values;
    values[from] = atUs;
    for (let i = 1; i < this.#width; i++) values[from + i] = numbers[i - 1] as number;
  }

  /** What was said of a subject, once. */
  take(subject: string): Sight | undefined {
    if (this.#rows.size === 0) return undefined;
    const name = shortSubject(subject);
    const row = this.#rows.get(name);
    if (row === undefined) return undefined;
    this.#rows.delete(name);
    const [atUs = 0, ...numbers] = this.#values.subarray(row * this.#width, (row + 1) * this.#width);
    return { atUs, numbers };
  }

  #rowFor(name: string): number {
    const known = this.#rows.get(name);
    const taken = known === undefined ? SUBJECTS_MAX : (this.#next - known + SUBJECTS_MAX - 1) % SUBJECTS_MAX;
    return known !== undefined && taken < SUBJECTS_MAX / 2 ? known : this.#newRow(name);
  }

  #newRow(name: string): number {
    const row = this.#next;
    const before = this.#names[row];
    if (before !== undefined && this.#rows.get(before) === row) this.#rows.delete(before);
    this.#names[row] = name;
    this.#rows.set(name, row);
    this.#next = (row + 1) % SUBJECTS_MAX;
    if ((row + 1) * this.#width > this.#values.length) {
      const wider = new Float64Array(this.#values.length * 2);
      wider.set(this.#values);
      this.#values = wider;
    }
    return row;
  }
}

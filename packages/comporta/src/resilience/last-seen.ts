import { shortSubject } from '../stores/keyspace.js';

/** What the store last said of a subject. */
export interface Sight {
  /** When it was heard, by this process's clock. */
  readonly atUs: number;
  /** Four numbers per limit, as in a reply of a store. */
  readonly numbers: readonly number[];
}

/** Subjects remembered in each of two generations. */
const GENERATION_MAX = 5000;

/**
 * What the store said last of the subjects that were in use last: 10 000 at most. A full generation
 * becomes the old one, so a remembered answer costs one write to a map and busy subjects always stay.
 */
export class LastSeen {
  #young: Map<string, Sight> = new Map();
  #old: Map<string, Sight> = new Map();

  note(subject: string, atUs: number, numbers: readonly number[]): void {
    this.#young.set(shortSubject(subject), { atUs, numbers });
    if (this.#young.size < GENERATION_MAX) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  /** What was said of a subject, once. */
  take(subject: string): Sight | undefined {
    if (this.#young.size === 0 && this.#old.size === 0) return undefined;
    const name = shortSubject(subject);
    const sight = this.#young.get(name) ?? this.#old.get(name);
    this.#young.delete(name);
    this.#old.delete(name);
    return sight;
  }
}

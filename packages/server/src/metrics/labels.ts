import type { Attributes } from 'comporta/telemetry';

/** Makes the attributes of two values once: the registry knows the same object without rendering it. */
export class Labels {
  readonly #make: (first: string, second: string) => Attributes;
  readonly #made: Map<string, Map<string, Attributes>> = new Map();

  /** Both values must be of a bounded number. */
  constructor(make: (first: string, second: string) => Attributes) {
    this.#make = make;
  }

  of(first: string, second: string): Attributes {
    let row = this.#made.get(first);
    if (row === undefined) {
      row = new Map();
      this.#made.set(first, row);
    }
    const known = row.get(second);
    if (known !== undefined) return known;
    const made = this.#make(first, second);
    row.set(second, made);
    return made;
  }
}

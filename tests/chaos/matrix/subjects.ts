import { slotOf } from '../../support/slots.js';
import type { SlotRange } from './ground.js';

/** Subjects that were never asked for, on the shard concerned or off it. */
export class Subjects {
  readonly hot: string;
  readonly #slots: readonly SlotRange[];
  #count = 0;

  constructor(slots: readonly SlotRange[]) {
    this.#slots = slots;
    this.hot = this.next(false);
  }

  next(isHealthy: boolean): string {
    for (;;) {
      const subject = `s${this.#count++}`;
      if (this.#isHealthy(subject) === isHealthy) return subject;
    }
  }

  #isHealthy(subject: string): boolean {
    if (this.#slots.length === 0) return false;
    const slot = slotOf(subject);
    return !this.#slots.some(([from, to]) => from <= slot && slot <= to);
  }
}

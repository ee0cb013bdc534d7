import { slotOf } from '../../support/slots.js';
import type { SlotRange } from './ground.js';

/**
 * Subjects that were never asked for, on the shard concerned or off it: nor in an earlier cell, since a server
 * that comes back may bring what was emptied meanwhile.
 */
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
      const subject = `s${process.pid}${String(this.#count++).padStart(7, '0')}`;
      if (this.#isHealthy(subject) === isHealthy) return subject;
    }
  }

  #isHealthy(subject: string): boolean {
    if (this.#slots.length === 0) return false;
    const slot = slotOf(subject);
    return !this.#slots.some(([from, to]) => from <= slot && slot <= to);
  }
}

interface Held {
  readonly id: string;
  readonly cost: number;
  readonly atMs: number;
  readonly holdMs: number;
  readonly onExpiry: 'release' | 'keep';
  state: 'open' | 'settled' | 'released';
}

/**
 * What a subject must have left of a budget that nothing refills: no clock, no log, only the sum of what
 * counts. The simplest thing that reservations can be compared with.
 */
export class Balance {
  readonly #limit: number;
  readonly #held: Map<string, Held> = new Map();
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get left(): number {
    return Math.max(0, this.#limit - this.#used);
  }

  charge(cost: number): void {
    this.#used += cost;
  }

  /** Whether it fits; what fits is charged. */
  consume(cost: number): boolean {
    if (cost > this.left) return false;
    this.#used += cost;
    return true;
  }

  /** As {@link Balance.consume}, until it is settled or released. */
  reserve(reservation: Omit<Held, 'state'>): boolean {
    if (!this.consume(reservation.cost)) return false;
    this.#held.set(reservation.id, { ...reservation, state: 'open' });
    return true;
  }

  /** Why it cannot be settled; `undefined` when it was. */
  settle(id: string, real: number, atMs: number): 'already-settled' | 'expired' | undefined {
    const held = this.#held.get(id);
    if (held === undefined) throw new Error(`nothing is held by ${id}`);
    if (held.state === 'settled') return 'already-settled';
    if (held.state === 'released' || atMs >= held.atMs + held.holdMs) return 'expired';
    held.state = 'settled';
    this.#used += real - held.cost;
    return undefined;
  }

  /** Gives back what is due. */
  release(nowMs: number): void {
    for (const held of this.#held.values()) {
      if (held.state !== 'open' || held.onExpiry === 'keep' || nowMs < held.atMs + held.holdMs) continue;
      held.state = 'released';
      this.#used -= held.cost;
    }
  }
}

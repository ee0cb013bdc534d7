interface Slot {
  state: unknown;
  expiresAtMs: number;
  size: number;
  /** Used since it was last passed over for eviction. */
  touched: boolean;
}

/** Units (log entries and the like) a table may hold per subject that it may hold. */
const UNITS_PER_SUBJECT = 10;

/** How many slots one insertion looks at for expired ones: enough to clean faster than subjects come. */
const SWEEP_STEPS = 2;

/**
 * A bounded map from subject to state. No timers: each insertion looks at a few slots in turn and
 * drops the expired. When full, expired slots go first, then those not used since the last look
 * (second chance), so a flood of new subjects does not push out a busy one.
 */
export class MemoryTable {
  readonly #slots: Map<string, Slot> = new Map();
  readonly #maxSubjects: number;
  #units = 0;
  #cursor: Iterator<[string, Slot]> = this.#slots.entries();

  constructor(maxSubjects: number) {
    this.#maxSubjects = maxSubjects;
  }

  get subjects(): number {
    return this.#slots.size;
  }

  get(subject: string, nowMs: number): unknown {
    const slot = this.#slots.get(subject);
    if (slot === undefined) return undefined;
    if (slot.expiresAtMs > nowMs) return slot.state;
    // Gone for good, as on a server: a clock that steps back must not bring it back.
    this.delete(subject);
    return undefined;
  }

  /** Ms until a subject's state ends; `undefined` when there is none. */
  ttlMs(subject: string, nowMs: number): number | undefined {
    const slot = this.#slots.get(subject);
    return slot === undefined ? undefined : slot.expiresAtMs - nowMs;
  }

  set(subject: string, state: unknown, expiresAtMs: number, size: number, nowMs: number): void {
    const slot = this.#slots.get(subject);
    if (slot === undefined) {
      this.#makeRoom(size, nowMs);
      this.#slots.set(subject, { state, expiresAtMs, size, touched: false });
      this.#units += size;
      return;
    }
    this.#units += size - slot.size;
    slot.state = state;
    slot.expiresAtMs = expiresAtMs;
    slot.size = size;
    slot.touched = true;
  }

  delete(subject: string): boolean {
    this.#units -= this.#slots.get(subject)?.size ?? 0;
    return this.#slots.delete(subject);
  }

  #makeRoom(size: number, nowMs: number): void {
    for (let i = 0; i < SWEEP_STEPS; i++) this.#sweepOne(nowMs);
    while (
      this.#slots.size >= this.#maxSubjects ||
      (this.#slots.size > 0 && this.#units + size > this.#maxSubjects * UNITS_PER_SUBJECT)
    ) {
      this.#evictOne(nowMs);
    }
  }

  #sweepOne(nowMs: number): void {
    const next = this.#cursor.next();
    if (next.done === true) {
      this.#cursor = this.#slots.entries();
      return;
    }
    const [subject, slot] = next.value;
    if (slot.expiresAtMs <= nowMs) this.delete(subject);
  }

  /** Looks at slots from the oldest on; one that was used is spared once and moves to the end. */
  #evictOne(nowMs: number): void {
    for (const [subject, slot] of this.#slots) {
      if (!slot.touched || slot.expiresAtMs <= nowMs) {
        this.delete(subject);
        return;
      }
      slot.touched = false;
      this.#slots.delete(subject);
      this.#slots.set(subject, slot);
    }
  }
}

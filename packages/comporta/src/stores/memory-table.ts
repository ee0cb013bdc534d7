interface Slot {
  readonly subject: string;
  state: unknown;
  expiresAtMs: number;
  size: number;
  /** Used since it was last passed over for eviction. */
  touched: boolean;
}

/** Units (log entries and the like) a table may hold per subject that it may hold. */
const UNITS_PER_SUBJECT = 10;

/** How many slots one charge looks at for expired ones: enough to clean faster than subjects come. */
const SWEEP_STEPS = 2;

/**
 * A bounded map from subject to state. No timers: each charge looks at a few slots in turn and drops
 * the expired. When full, the oldest slot goes that is expired or was not used since it was last passed
 * over (second chance), so a flood of new subjects does not push out a busy one.
 */
export class MemoryTable {
  readonly #slots: Map<string, Slot> = new Map();
  readonly #maxSubjects: number;
  readonly #onLoss: (() => void) | undefined;
  #units = 0;
  // Iterators that go on where they stopped: one from the start would first step over all that was deleted there.
  #cursor: Iterator<Slot> = this.#slots.values();
  /** Only while there are evictions: an iterator that stands still keeps every table that the map outgrew. */
  #hand: Iterator<Slot> | undefined;
  #hasEvicted = false;

  /** `onLoss` is told of every state that had to go although it still counted. */
  constructor(maxSubjects: number, onLoss?: () => void) {
    this.#maxSubjects = maxSubjects;
    this.#onLoss = onLoss;
  }

  get subjects(): number {
    return this.#slots.size;
  }

  /** Reading is using: a subject that is being refused must not be pushed out, or it would start afresh. */
  get(subject: string, nowMs: number): unknown {
    const slot = this.#slots.get(subject);
    if (slot === undefined) return undefined;
    slot.touched = true;
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
    for (let i = 0; i < SWEEP_STEPS; i++) this.#sweepOne(nowMs);
    let slot = this.#slots.get(subject);
    if (slot === undefined) {
      slot = { subject, state, expiresAtMs, size: 0, touched: false };
      this.#slots.set(subject, slot);
    } else {
      slot.touched = true;
    }
    this.#units += size - slot.size;
    slot.state = state;
    slot.expiresAtMs = expiresAtMs;
    slot.size = size;
    while (this.#isOverfull()) this.#evictOne(slot, nowMs);
  }

  delete(subject: string): boolean {
    this.#units -= this.#slots.get(subject)?.size ?? 0;
    return this.#slots.delete(subject);
  }

  #isOverfull(): boolean {
    const { size } = this.#slots;
    return size > this.#maxSubjects || (this.#units > this.#maxSubjects * UNITS_PER_SUBJECT && size > 1);
  }

  #sweepOne(nowMs: number): void {
    const next = this.#cursor.next();
    if (next.done === true) {
      this.#cursor = this.#slots.values();
      if (!this.#hasEvicted) this.#hand = undefined;
      this.#hasEvicted = false;
      return;
    }
    const { subject, expiresAtMs } = next.value;
    if (expiresAtMs <= nowMs) this.delete(subject);
  }

  /** Never `charged` itself: what was just admitted must count. */
  #evictOne(charged: Slot, nowMs: number): void {
    this.#hasEvicted = true;
    for (;;) {
      this.#hand ??= this.#slots.values();
      const next = this.#hand.next();
      if (next.done === true) {
        this.#hand = undefined;
        continue;
      }
      const slot = next.value;
      if (slot !== charged && (!slot.touched || slot.expiresAtMs <= nowMs)) {
        if (slot.expiresAtMs > nowMs) this.#onLoss?.();
        this.delete(slot.subject);
        return;
      }
      // Spared once: it goes to the end of the queue.
      slot.touched = false;
      this.#slots.delete(slot.subject);
      this.#slots.set(slot.subject, slot);
    }
  }
}

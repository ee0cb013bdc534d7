/** A subject's place in a table, as long as it has one. */
export interface Slot {
  readonly subject: string;
  state: unknown;
  /** 0 once it is out of the table. */
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
 * A bounded map from subject to state. No timers: while any may have expired, each charge looks at a few slots in
 * turn and drops those that have. When full, the oldest slot goes that is expired or was not used since it was
 * last passed over (second chance), so a flood of new subjects does not push out a busy one.
 */
export class MemoryTable {
  readonly #slots: Map<string, Slot> = new Map();
  readonly #maxSubjects: number;
  readonly #onLoss: (() => void) | undefined;
  #units = 0;
  // Iterators that go on where they stopped: one from the start would first step over all that was deleted there.
  // Only while they are used: one that stands still keeps every table that the map outgrew.
  #cursor: Iterator<Slot> | undefined;
  #hand: Iterator<Slot> | undefined;
  #setsSinceEviction = 0;
  /** No slot expires before; and none of those that the cursor has passed, or that were set since it started. */
  #soonestMs = Number.POSITIVE_INFINITY;
  #soonestPassedMs = Number.POSITIVE_INFINITY;

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
    return this.find(subject, nowMs)?.state;
  }

  /** As {@link MemoryTable.get}, for {@link MemoryTable.put}. */
  find(subject: string, nowMs: number): Slot | undefined {
    const slot = this.#slots.get(subject);
    if (slot === undefined) return undefined;
    slot.touched = true;
    if (slot.expiresAtMs > nowMs) return slot;
    // Gone for good, as on a server: a clock that steps back must not bring it back.
    this.#drop(slot);
    return undefined;
  }

  /** Ms until a subject's state ends; `undefined` when there is none. */
  ttlMs(subject: string, nowMs: number): number | undefined {
    const slot = this.#slots.get(subject);
    return slot === undefined ? undefined : slot.expiresAtMs - nowMs;
  }

  set(subject: string, state: unknown, expiresAtMs: number, size: number, nowMs: number): void {
    this.put(this.find(subject, nowMs), subject, state, expiresAtMs, size, nowMs);
  }

  /** As {@link MemoryTable.set}, where the subject's slot was found before at the same time. */
  put(
    found: Slot | undefined,
    subject: string,
    state: unknown,
    expiresAtMs: number,
    size: number,
    nowMs: number,
  ): void {
    if (nowMs >= this.#soonestMs) this.#sweep(nowMs);
    // The listener that is told of a loss may have changed the table since.
    const slot = found !== undefined && found.expiresAtMs > nowMs ? found : this.#slotOf(subject);
    this.#units += size - slot.size;
    slot.state = state;
    slot.expiresAtMs = expiresAtMs;
    slot.size = size;
    if (expiresAtMs < this.#soonestPassedMs) this.#expects(expiresAtMs);
    if (this.#hand !== undefined || this.#isOverfull()) this.#makeRoom(slot, nowMs);
  }

  delete(subject: string): boolean {
    const slot = this.#slots.get(subject);
    if (slot !== undefined) this.#drop(slot);
    return slot !== undefined;
  }

  #slotOf(subject: string): Slot {
    const known = this.#slots.get(subject);
    if (known !== undefined) return known;
    const slot: Slot = { subject, state: undefined, expiresAtMs: 0, size: 0, touched: false };
    this.#slots.set(subject, slot);
    return slot;
  }

  #drop(slot: Slot): void {
    this.#units -= slot.size;
    slot.expiresAtMs = 0;
    this.#slots.delete(slot.subject);
  }

  #isOverfull(): boolean {
    const { size } = this.#slots;
    return size > this.#maxSubjects || (this.#units > this.#maxSubjects * UNITS_PER_SUBJECT && size > 1);
  }

  #sweep(nowMs: number): void {
    for (let i = 0; i < SWEEP_STEPS; i++) {
      if (this.#cursor === undefined) {
        this.#cursor = this.#slots.values();
        this.#soonestPassedMs = Number.POSITIVE_INFINITY;
      }
      const next = this.#cursor.next();
      if (next.done === true) {
        this.#cursor = undefined;
        this.#soonestMs = this.#soonestPassedMs;
        return;
      }
      const slot = next.value;
      if (slot.expiresAtMs <= nowMs) this.#drop(slot);
      else if (slot.expiresAtMs < this.#soonestPassedMs) this.#soonestPassedMs = slot.expiresAtMs;
    }
  }

  #expects(expiresAtMs: number): void {
    this.#soonestPassedMs = expiresAtMs;
    if (expiresAtMs < this.#soonestMs) this.#soonestMs = expiresAtMs;
  }

  #makeRoom(charged: Slot, nowMs: number): void {
    if (++this.#setsSinceEviction > this.#slots.size) this.#hand = undefined;
    let lost = 0;
    for (; this.#isOverfull(); this.#setsSinceEviction = 0) lost += this.#evictOne(charged, nowMs);
    // Last: whoever is told may use the table, which must be whole by then.
    for (; lost > 0; lost--) this.#onLoss?.();
  }

  /** How many states that still counted had to go. Never `charged` itself: what was just admitted must count. */
  #evictOne(charged: Slot, nowMs: number): number {
    for (;;) {
      this.#hand ??= this.#slots.values();
      const next = this.#hand.next();
      if (next.done === true) {
        this.#hand = undefined;
        continue;
      }
      const slot = next.value;
      if (slot !== charged && (!slot.touched || slot.expiresAtMs <= nowMs)) {
        const lost = slot.expiresAtMs > nowMs ? 1 : 0;
        this.#drop(slot);
        return lost;
      }
      // Spared once: it goes to the end of the queue.
      slot.touched = false;
      this.#slots.delete(slot.subject);
      this.#slots.set(slot.subject, slot);
    }
  }
}

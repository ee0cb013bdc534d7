/** An item and how often it was seen: at least `count - error` times, at most `count` times. */
export interface Counted {
  readonly item: string;
  readonly count: number;
  readonly error: number;
}

interface Entry {
  item: string;
  count: number;
  error: number;
  /** Where it stands in the heap. */
  place: number;
}

/**
 * Counts the most frequent of any number of items in bounded memory (Space-Saving, Metwally et al. 2005): every item
 * that makes up more than one part in `capacity` of all is there, and no count is off by more than that part.
 */
export class SpaceSaving {
  readonly #capacity: number;
  readonly #entries: Map<string, Entry> = new Map();
  /** The rarest first: that is the one whose place a new item takes. */
  readonly #heap: Entry[] = [];
  #total = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** How often anything was seen; exact. */
  get total(): number {
    return this.#total;
  }

  add(item: string): void {
    this.#total++;
    const known = this.#entries.get(item);
    if (known !== undefined) this.#grow(known);
    else if (this.#heap.length < this.#capacity) this.#insert(item);
    else this.#replace(item);
  }

  /** The new item may have been seen as often as the one whose place it takes. */
  #replace(item: string): void {
    const rarest = this.#heap[0] as Entry;
    this.#entries.delete(rarest.item);
    rarest.item = item;
    rarest.error = rarest.count;
    this.#entries.set(item, rarest);
    this.#grow(rarest);
  }

  /** What is there, in no order. */
  counted(): readonly Counted[] {
    return this.#heap.map(({ item, count, error }) => ({ item, count, error }));
  }

  /** How often an item that is not there may have been seen. */
  get unseenMax(): number {
    return this.#heap.length < this.#capacity ? 0 : (this.#heap[0]?.count ?? 0);
  }

  #insert(item: string): void {
    const entry = { item, count: 1, error: 0, place: this.#heap.length };
    this.#entries.set(item, entry);
    this.#heap.push(entry);
    // Nothing is rarer than once.
    for (let at = entry.place; at > 0; ) {
      const above = (at - 1) >> 1;
      if ((this.#heap[above] as Entry).count <= entry.count) return;
      this.#swap(at, above);
      at = above;
    }
  }

  #grow(entry: Entry): void {
    entry.count++;
    for (;;) {
      const at = entry.place;
      const [left, right] = [this.#heap[2 * at + 1], this.#heap[2 * at + 2]];
      const rarer = right !== undefined && left !== undefined && right.count < left.count ? right : left;
      if (rarer === undefined || rarer.count >= entry.count) return;
      this.#swap(at, rarer.place);
    }
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a] as Entry, this.#heap[b] as Entry];
    this.#heap[a] = second;
    this.#heap[b] = first;
    second.place = a;
    first.place = b;
  }
}

/** Several counts as one; what may be missing from one of them widens the error. The most frequent first. */
export function merged(sketches: readonly SpaceSaving[]): readonly Counted[] {
  const lists = sketches.map((sketch) => ({
    unseenMax: sketch.unseenMax,
    counted: new Map(sketch.counted().map((each) => [each.item, each])),
  }));
  const items = new Set(lists.flatMap(({ counted }) => [...counted.keys()]));
  return [...items]
    .map((item) => {
      const parts = lists.map(
        ({ counted, unseenMax }) => counted.get(item) ?? { item, count: unseenMax, error: unseenMax },
      );
      const sum = (of: (part: Counted) => number): number => parts.reduce((all, part) => all + of(part), 0);
      return { item, count: sum(({ count }) => count), error: sum(({ error }) => error) };
    })
    .sort((a, b) => b.count - a.count || (a.item < b.item ? -1 : 1));
}

/** One admitted request. The stamps of the caller are on a clock that all processes of this machine share. */
export interface Admission {
  /** Time of the server that decided, in µs since the epoch. */
  readonly atUs: number;
  readonly sentUs: number;
  readonly heardUs: number;
}

export interface BucketRule {
  readonly capacity: number;
  /** Tokens per ms. */
  readonly rate: number;
  /** The bucket counts time in whole steps of so many µs. */
  readonly tickUs: number;
}

export interface WindowRule {
  readonly limit: number;
  readonly windowMs: number;
}

/**
 * The server decides in whole ticks and its clock may be slewed against ours: what callers saw is
 * judged with so much more time than they measured.
 */
const OUTSIDE_SLACK_MS = 2;

/** Most that was admitted above `capacity + rate * time` over all intervals; 0 or less when exact. One pass. */
export function bucketExcess(admissions: readonly Admission[], { capacity, rate, tickUs }: BucketRule): number {
  const ticks = admissions.map(({ atUs }) => Math.floor(atUs / tickUs)).sort((a, b) => a - b);
  let lowest = Number.POSITIVE_INFINITY;
  let excess = -capacity;
  ticks.forEach((tick, index) => {
    // Times count from the first, so that products stay small.
    const level = index - ((tick - (ticks[0] ?? 0)) * tickUs * rate) / 1000;
    lowest = Math.min(lowest, level);
    excess = Math.max(excess, level - lowest + 1 - capacity);
  });
  return excess;
}

/** Most that was admitted above the limit in any window by the server's time; 0 or less when exact. One pass. */
export function windowExcess(admissions: readonly Admission[], { limit, windowMs }: WindowRule): number {
  const times = admissions.map(({ atUs }) => atUs).sort((a, b) => a - b);
  let first = 0;
  let most = 0;
  times.forEach((atUs, index) => {
    while (atUs - (times[first] ?? atUs) >= windowMs * 1000) first++;
    most = Math.max(most, index - first + 1);
  });
  return most - limit;
}

/**
 * As {@link bucketExcess} without trust in the server's stamps: a request that was sent and answered
 * within an interval was decided in it. Callers are swept from the last one sent; O(n log n).
 */
export function bucketExcessOutside(admissions: readonly Admission[], { capacity, rate }: BucketRule): number {
  const heard = admissions.map(({ heardUs }) => heardUs / 1000).sort((a, b) => a - b);
  const tree = new PrefixMaximum(heard.map((ms, index) => -rate * (ms - (heard[index - 1] ?? ms))));
  const places = placesOf(admissions);
  const startMs = heard[0] ?? 0;
  let excess = -capacity;
  for (const { place, sentUs } of places) {
    tree.add(place, 1);
    const fromMs = sentUs / 1000 - startMs;
    excess = Math.max(excess, tree.maximum + rate * (fromMs - OUTSIDE_SLACK_MS) - capacity);
  }
  return excess;
}

/** As {@link windowExcess}, by what callers saw. */
export function windowExcessOutside(admissions: readonly Admission[], { limit, windowMs }: WindowRule): number {
  const sorted = [...admissions].sort((a, b) => a.sentUs - b.sentUs);
  const lengthUs = (windowMs - OUTSIDE_SLACK_MS) * 1000;
  let most = 0;
  sorted.forEach(({ sentUs }, from) => {
    let inside = 0;
    for (let i = from; i < sorted.length; i++) {
      const next = sorted[i] as Admission;
      if (next.sentUs - sentUs >= lengthUs) break;
      if (next.heardUs - sentUs < lengthUs) inside++;
    }
    most = Math.max(most, inside);
  });
  return most - limit;
}

/** Admissions from the last sent to the first, each with its place in the order of being heard. */
function placesOf(admissions: readonly Admission[]): { readonly place: number; readonly sentUs: number }[] {
  const order = [...admissions].sort((a, b) => a.heardUs - b.heardUs);
  return order.map(({ sentUs }, place) => ({ place, sentUs })).sort((a, b) => b.sentUs - a.sentUs);
}

/** A list of numbers that knows the greatest sum of its beginnings that end at an entry with something added. */
class PrefixMaximum {
  readonly #size: number;
  readonly #sums: Float64Array;
  readonly #best: Float64Array;

  constructor(values: readonly number[]) {
    this.#size = 2 ** Math.ceil(Math.log2(Math.max(2, values.length)));
    this.#sums = new Float64Array(2 * this.#size);
    this.#best = new Float64Array(2 * this.#size).fill(Number.NEGATIVE_INFINITY);
    values.forEach((value, index) => {
      this.#sums[this.#size + index] = value;
    });
    for (let node = this.#size - 1; node > 0; node--) this.#join(node);
  }

  get maximum(): number {
    return this.#best[1] as number;
  }

  add(index: number, amount: number): void {
    let node = this.#size + index;
    this.#sums[node] = (this.#sums[node] as number) + amount;
    this.#best[node] = this.#sums[node] as number;
    while (node > 1) {
      node >>= 1;
      this.#join(node);
    }
  }

  #join(node: number): void {
    const [left, right] = [2 * node, 2 * node + 1];
    const sum = this.#sums[left] as number;
    this.#sums[node] = sum + (this.#sums[right] as number);
    this.#best[node] = Math.max(this.#best[left] as number, sum + (this.#best[right] as number));
  }
}

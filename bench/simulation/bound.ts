/**
 * What a limit of so many at once and so many a second lets pass in any time, as reckoned without the library. Times
 * are those of the deciding clock, which counts the time of a bucket in whole milliseconds.
 */
interface Rate {
  readonly capacity: number;
  readonly perSecond: number;
}

/**
 * How far admissions go beyond a rate in the time where they do most: the greatest number, over all intervals, by which
 * those within it exceed `capacity + perSecond × its length`. `used`: what the bucket lacked at `fromUs`.
 */
export function excessOverRate(timesUs: readonly number[], rate: Rate, used = 0, fromUs = 0): number {
  let [level, lastUs, most] = [used, wholeMs(fromUs), 0];
  for (const atUs of Float64Array.from(timesUs, wholeMs).sort()) {
    level = Math.max(0, level - ((atUs - lastUs) * rate.perSecond) / 1e6) + 1;
    lastUs = atUs;
    most = Math.max(most, level - rate.capacity);
  }
  // A part of a unit is missing for the whole one; and sums of fractions are not exact.
  return Math.max(0, Math.ceil(most - 1e-3));
}

const wholeMs = (us: number): number => us - (us % 1000);

/** Most admissions within any window of this length, wherever it begins. */
export function mostWithin(timesUs: readonly number[], windowUs: number): number {
  const sorted = Float64Array.from(timesUs).sort();
  let [first, most] = [0, 0];
  sorted.forEach((atUs, i) => {
    while ((sorted[first] as number) <= atUs - windowUs) first++;
    most = Math.max(most, i - first + 1);
  });
  return most;
}

/** {@link excessOverRate} of millions of numbered subjects at once, told one admission after the other. */
export class RateLedger {
  readonly #levels: Float64Array;
  readonly #lastUs: Float64Array;
  readonly #rate: Rate;
  admitted = 0;
  /** Subjects that were admitted at least once. */
  subjects = 0;
  /** Admissions beyond what the rate lets pass. */
  excess = 0;

  constructor(subjects: number, rate: Rate) {
    this.#levels = new Float64Array(subjects + 1);
    this.#lastUs = new Float64Array(subjects + 1);
    this.#rate = rate;
  }

  admit(subject: number, us: number): void {
    const atUs = wholeMs(us);
    const { capacity, perSecond } = this.#rate;
    const lastUs = this.#lastUs[subject] as number;
    if (lastUs === 0) this.subjects++;
    const left = Math.max(0, (this.#levels[subject] as number) - ((atUs - lastUs) * perSecond) / 1e6);
    this.#levels[subject] = left + 1;
    this.#lastUs[subject] = atUs;
    this.admitted++;
    if (left + 1 > capacity + 1e-3) this.excess++;
  }
}

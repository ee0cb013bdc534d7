/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export type Chance = () => number;

export function chanceOf(seed: number): Chance {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Time until the next of so many independent arrivals a second, in µs. */
export function gapUs(perSecond: number, chance: Chance): number {
  return (-Math.log(1 - chance()) * 1e6) / perSecond;
}

/** A time with this median whose logarithm is normal; its 99th percentile is `exp(2.33 sigma)` medians. */
export function logNormal(median: number, sigma: number, chance: Chance): number {
  const normal = Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
  return median * Math.exp(sigma * normal);
}

/**
 * Draws from 1 to `count`, each k in proportion to 1 / k^s, without a table: by inverting the area below the curve, and
 * drawing again where that overstates a number (Hörmann and Derflinger, 1996). `s` is above 0 and not 1.
 */
export function zipfOf(count: number, s: number, chance: Chance): () => number {
  const area = (x: number): number => (x ** (1 - s) - 1) / (1 - s);
  const place = (a: number): number => (1 + a * (1 - s)) ** (1 / (1 - s));
  const [low, high] = [area(1.5) - 1, area(count + 0.5)];
  return () => {
    for (;;) {
      const drawn = high + chance() * (low - high);
      const k = Math.min(count, Math.max(1, Math.round(place(drawn))));
      if (drawn >= area(k + 0.5) - k ** -s) return k;
    }
  };
}

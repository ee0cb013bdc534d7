import { type Limit, slidingWindowCounter } from 'comporta';
import { describe, expect, test } from 'vitest';
import { isAllowed, MemoryBench, numbersOf } from '../../support/memory-bench.js';

/** Every admitted request with its time: the textbook estimate is computed anew from them, in floats. */
class Model {
  readonly #limit: number;
  readonly #windowS: number;
  readonly #hits: { readonly atS: number; readonly cost: number }[] = [];

  constructor(limit: number, windowS: number) {
    this.#limit = limit;
    this.#windowS = windowS;
  }

  used(atS: number): number {
    const index = Math.floor(atS / this.#windowS);
    const share = 1 - (atS - index * this.#windowS) / this.#windowS;
    return this.#sumOf(index) + this.#sumOf(index - 1) * share;
  }

  remaining(atS: number): number {
    // A float that should be whole may lie a hair below it.
    return Math.max(0, Math.floor(this.#limit - this.used(atS) + 1e-9));
  }

  consume(atS: number, cost: number): boolean {
    if (this.remaining(atS) < cost) return false;
    this.#hits.push({ atS, cost });
    return true;
  }

  #sumOf(index: number): number {
    const inside = this.#hits.filter(({ atS }) => Math.floor(atS / this.#windowS) === index);
    return inside.reduce((sum, { cost }) => sum + cost, 0);
  }
}

/** Asks both at every second of `windows` windows, with the cost that `costAt` gives for it (0: only a look). */
function compare(limit: Limit, windows: number, costAt: (second: number) => number): number {
  const windowS = limit.windowMs / 1000;
  const bench = new MemoryBench([limit]);
  const startS = windowS * 10_000_000;
  const model = new Model(limit.limit, windowS);
  let passed = 0;
  for (let second = 0; second < windows * windowS; second++) {
    bench.nowUs = (startS + second) * 1_000_000;
    const cost = costAt(second);
    if (cost > 0) {
      const allowed = isAllowed(bench.policy.consume('s', cost));
      expect(allowed, `second ${second}, cost ${cost}`).toBe(model.consume(second, cost));
      if (allowed) passed += cost;
    }
    expect(numbersOf(bench.policy.peek('s', 0)).remaining, `second ${second}`).toBe(model.remaining(second));
  }
  return passed;
}

describe('the estimate of the two-window counter equals the textbook formula at every second', () => {
  test('of the window after a full one, to its last third and its end', () => {
    const limit = slidingWindowCounter({ limit: 180, window: '180s' });
    expect(compare(limit, 3, (second) => (second === 0 ? 180 : 0))).toBe(180);
  });

  test('under one request each second, at, below and above the limit', () => {
    for (const limit of [30, 60, 90]) {
      const passed = compare(slidingWindowCounter({ limit, window: '60s' }), 6, () => 1);
      expect(passed).toBeGreaterThan(Math.min(limit, 60) * 4);
    }
  });

  test('under bursts at the end of every other window', () => {
    compare(slidingWindowCounter({ limit: 50, window: '30s' }), 8, (second) => (second % 60 >= 27 ? 13 : 0));
  });

  test('under uneven costs, some of which never fit', () => {
    compare(slidingWindowCounter({ limit: 17, window: '7s' }), 40, (second) => (second * 7919) % 23);
  });

  test('after a pause of exactly one and of two windows', () => {
    compare(slidingWindowCounter({ limit: 5, window: '10s' }), 9, (second) => ([0, 19, 49].includes(second) ? 5 : 0));
  });
});

test('the worst case that is documented is real: nearly twice the limit in one window', () => {
  const bench = new MemoryBench([slidingWindowCounter({ limit: 100, window: '100s' })]);
  const consumeAt = (second: number, cost: number) => {
    bench.nowUs = (100 * 1_000_000 + second) * 1_000_000;
    return isAllowed(bench.policy.consume('s', cost));
  };
  expect(consumeAt(0, 1)).toBe(true);
  expect(consumeAt(99, 99)).toBe(true);
  // The 99 are 99 s old, so they still count in truth; the estimate weighs them with 2 %.
  expect(consumeAt(198, 98)).toBe(true);
});

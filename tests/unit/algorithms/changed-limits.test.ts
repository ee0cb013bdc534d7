import { fixedWindow, type Limit, slidingWindow, slidingWindowCounter, tokenBucket } from 'comporta';
import { beforeEach, describe, expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { MemoryPolicy } from '../../../packages/comporta/src/stores/memory-policy.js';
import { MemoryTable } from '../../../packages/comporta/src/stores/memory-table.js';
import { FakeClock } from '../../support/fake-clock.js';
import { isAllowed, numbersOf } from '../../support/memory-bench.js';

let clock = new FakeClock();
let tables = new Map<string, MemoryTable>();

beforeEach(() => {
  // The start of a minute, so that no aligned window ends within a test.
  clock = new FakeClock(60_000_000 * 30_000_000);
  tables = new Map();
});

/** A policy of one name over the same tables: what a deployment with other settings finds. */
function deployed(limit: Limit): MemoryPolicy {
  const tableOf = (name: string): MemoryTable => {
    const table = tables.get(name) ?? new MemoryTable(100);
    tables.set(name, table);
    return table;
  };
  return new MemoryPolicy({ policy: 'p', limits: withIds([limit]) }, tableOf, clock);
}

const left = (policy: MemoryPolicy): number => numbersOf(policy.peek('s', 0)).remaining;

const sized: [string, (size: number) => Limit][] = [
  ['tokenBucket', (size) => tokenBucket({ capacity: size, refill: 1, every: '1m' })],
  ['slidingWindow', (size) => slidingWindow({ limit: size, window: '1m' })],
  ['slidingWindowCounter', (size) => slidingWindowCounter({ limit: size, window: '1m' })],
  ['fixedWindow', (size) => fixedWindow({ limit: size, window: '1m' })],
  ['fixedWindow from the first hit', (size) => fixedWindow({ limit: size, window: '1m', align: 'first-hit' })],
];

describe.each(sized)('a new size of %s', (_, make) => {
  test('larger: the new room is there at once, and only that', () => {
    expect(isAllowed(deployed(make(10)).consume('s', 10))).toBe(true);
    const after = deployed(make(15));
    expect(left(after)).toBe(5);
    expect(isAllowed(after.consume('s', 6))).toBe(false);
    expect(isAllowed(after.consume('s', 5))).toBe(true);
    expect(left(after)).toBe(0);
  });

  test('smaller: use is kept and what is left is never below zero', () => {
    deployed(make(10)).consume('s', 8);
    const after = deployed(make(5));
    expect(left(after)).toBe(0);
    const { remaining, retryAfterMs, nextAfterMs } = numbersOf(after.consume('s', 1));
    expect(remaining).toBe(0);
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(nextAfterMs).toBe(retryAfterMs);
    clock.advance(retryAfterMs - 1);
    expect(isAllowed(after.consume('s', 1))).toBe(false);
    clock.advance(1);
    expect(isAllowed(after.consume('s', 1))).toBe(true);
  });

  test('zero and back: nothing passes in between and the use is still known', () => {
    deployed(make(10)).consume('s', 4);
    const { remaining, retryAfterMs } = numbersOf(deployed(make(0)).consume('s', 1));
    expect({ remaining, retryAfterMs }).toEqual({ remaining: 0, retryAfterMs: -1 });
    expect(left(deployed(make(10)))).toBe(6);
  });

  test('old and new processes side by side never pass more than the larger allows', () => {
    const [old, young] = [deployed(make(10)), deployed(make(6))];
    let passed = 0;
    for (let i = 0; i < 40; i++) if (isAllowed((i % 2 === 0 ? old : young).consume('s', 1))) passed++;
    expect(passed).toBe(10);
    expect([left(old), left(young)]).toEqual([0, 0]);
  });

  test('old and new processes side by side keep the larger limit over many windows', () => {
    const [old, young] = [deployed(make(10)), deployed(make(5))];
    const alone = deployed(make(10));
    let [together, single] = [0, 0];
    for (let second = 0; second < 600; second++, clock.advance(1000)) {
      for (const policy of [young, old]) if (isAllowed(policy.consume('s', 1))) together++;
      for (let i = 0; i < 2; i++) if (isAllowed(alone.consume('alone', 1))) single++;
    }
    expect(together).toBeLessThanOrEqual(single);
  });
});

describe('a new rate of a bucket', () => {
  const bucket = (refill: number, every: string) => tokenBucket({ capacity: 100, refill, every });

  test.each([
    ['1m', 7],
    ['1h', 11],
    ['7s', 3],
  ])('of another period (%s) keeps the use in tokens', (every, refill) => {
    deployed(bucket(1, '1m')).consume('s', 37);
    expect(left(deployed(bucket(refill, every)))).toBe(63);
  });

  test('never gives back more than the use, however often it changes', () => {
    deployed(bucket(1, '1m')).consume('s', 50);
    for (const every of ['7s', '11s', '13s', '1m', '17s']) deployed(bucket(3, every)).consume('s', 1);
    expect(left(deployed(bucket(1, '1m')))).toBe(45);
  });

  test('accrues at the new rate from the next request on', () => {
    deployed(bucket(1, '1m')).consume('s', 100);
    const faster = deployed(bucket(1, '1s'));
    clock.advance(10_000);
    expect(left(faster)).toBe(10);
  });
});

test('a longer window counts what the shorter one had kept', () => {
  deployed(slidingWindow({ limit: 5, window: '10s' })).consume('s', 5);
  clock.advance(9_999);
  const longer = deployed(slidingWindow({ limit: 5, window: '20s' }));
  expect(isAllowed(longer.consume('s', 1))).toBe(false);
  clock.advance(10_001);
  expect(isAllowed(longer.consume('s', 1))).toBe(true);
});

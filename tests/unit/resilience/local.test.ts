import { memoryStore, slidingWindow } from 'comporta';
import { expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { LastSeen } from '../../../packages/comporta/src/resilience/last-seen.js';
import type { Debt } from '../../../packages/comporta/src/resilience/ledger.js';
import { LocalShare } from '../../../packages/comporta/src/resilience/local-share.js';
import { FakeClock } from '../../support/fake-clock.js';
import { isAllowed, numbersOf } from '../../support/memory-bench.js';

const WINDOW_MS = 60_000;

/** One of two processes, each with 5 of 10 a minute. */
function open(remembers = true) {
  const clock = new FakeClock();
  const plan = { policy: 'p', limits: withIds([slidingWindow({ limit: 10, window: WINDOW_MS })]) };
  const partOf = () => ({ processes: 2, rank: 0 });
  const share = new LocalShare(plan, memoryStore({ clock }), { clock, partOf, remembers });
  const said = (remaining: number, resetAfterMs = WINDOW_MS): void =>
    share.saw('s', { atUs: 0, numbers: [remaining, 0, resetAfterMs, resetAfterMs] });
  const left = (owed: readonly Debt[] = []): number =>
    numbersOf(
      share.decide({ operation: 'peek', subject: 's', cost: 0, id: 'x' }, { owed: () => owed, begin: () => undefined }),
    ).remaining;
  const consume = (): boolean =>
    isAllowed(share.decide({ operation: 'consume', subject: 's', cost: 1, id: 'x' }, undefined));
  return { clock, share, said, left, consume };
}

test('an outage begins with the part of what the store had left', () => {
  const { said, left } = open();
  said(6);
  expect(left()).toBe(3);
});

test('what was seen long before ages until the outage begins', () => {
  const { clock, said, left } = open();
  said(0, 30_000);
  clock.advance(29_999);
  expect(left()).toBe(0);
  clock.advance(1);
  expect(left()).toBe(5);
});

test('a second outage gives back nothing of what the first one took', () => {
  const { said, left, consume } = open();
  said(10, 0);
  for (let i = 0; i < 4; i++) expect(consume()).toBe(true);
  said(10, 0);
  expect(left()).toBe(1);
  said(2);
  expect(left()).toBe(1);
  said(0);
  expect(left()).toBe(0);
});

test('what the store does not know yet is taken off what it says', () => {
  const { said, left } = open();
  said(6);
  expect(left([{ amount: 2, resetAfterMs: WINDOW_MS }])).toBe(1);
});

test('a reset forgets what was seen', () => {
  const { share, said, left } = open();
  said(0);
  share.reset('s');
  expect(left()).toBe(5);
});

test('where the store itself is in memory nothing is remembered', () => {
  const { said, left } = open(false);
  said(0);
  expect(left()).toBe(5);
});

test('busy subjects are remembered through a flood of new ones, and memory stays bounded', () => {
  const seen = new LastSeen(1);
  const numbers = (i: number): number[] => [i, 0, i + 1, 0];
  for (let i = 0; i < 30_000; i++) {
    seen.note(`s${i}`, i, numbers(i));
    if (i % 1000 === 0) seen.note('busy', i, numbers(i));
  }
  expect(seen.take('busy')).toEqual({ atUs: 29_000, numbers: numbers(29_000) });
  expect(seen.take('busy')).toBeUndefined();
  const all = Array.from({ length: 30_000 }, (_, i) => seen.take(`s${i}`));
  const kept = all.filter((sight) => sight !== undefined);
  expect(all.at(-1)).toEqual({ atUs: 29_999, numbers: numbers(29_999) });
  expect(kept.length).toBeGreaterThanOrEqual(4_900);
  expect(kept.length).toBeLessThanOrEqual(10_000);
});

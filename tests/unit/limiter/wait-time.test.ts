import type { Decision } from 'comporta';
import { expect, test } from 'vitest';
import { delayAfter, isSure, leastMs } from '../../../packages/comporta/src/limiter/wait-time.js';

const isHeld = (id: string): boolean => id === 'places';
const degraded = { mode: 'closed', cause: 'unavailable', detail: 'gone' } as const;

/** A refusal with a wait per limit: `rate` makes room with time, `places` when somebody gives one back. */
function refusal(waits: Readonly<Record<string, number | null>>, about: Partial<Decision> = {}): Decision {
  const limits = Object.entries(waits).map(([id, retryAfterMs]) => {
    return { id, limit: 10, windowMs: 1000, remaining: 0, retryAfterMs, resetAfterMs: 0, nextAfterMs: 0 };
  });
  const all = Object.values(waits);
  const retryAfterMs = all.length === 0 || all.includes(null) ? null : Math.max(...(all as number[]));
  const rest = { subject: 's', policy: 'p', cost: 1, id: 'x', atUs: 1, binding: undefined, degraded: undefined };
  return { allowed: false, reason: 'limit-exceeded', limits, retryAfterMs, ...rest, ...about };
}

test.each<[string, Decision, number, number | undefined]>([
  ['the wait of a rate', refusal({ rate: 700 }), 0, 700],
  ['never, where the cost can never fit', refusal({ rate: null }), 0, undefined],
  ['soon, where a place may be given back', refusal({ places: 15_000 }), 1, 100],
  ['later each time', refusal({ places: 15_000 }), 2, 200],
  ['but not very late', refusal({ places: 15_000 }), 50, 400],
  ['at its end at the latest, where a lease ends before', refusal({ places: 30 }), 50, 30],
  ['not before the rate has room, whatever is given back', refusal({ rate: 700, places: 15_000 }), 1, 700],
  ['exactly, where places are free', refusal({ rate: 700, places: 0 }), 1, 700],
  ['soon, where the store did not decide', refusal({ rate: 60_000 }, { degraded }), 1, 100],
  ['soon, where nobody could count', refusal({}, { degraded }), 3, 400],
])('it asks again: %s', (_, decision, unsure, expected) => {
  expect(delayAfter(decision, unsure, isHeld)).toBe(expected);
});

test('a time is sure when only time makes room and the store said so', () => {
  expect(isSure(refusal({ rate: 5, places: 0 }), isHeld)).toBe(true);
  expect(isSure(refusal({ rate: 5, places: 5 }), isHeld)).toBe(false);
  expect(isSure(refusal({ rate: 5 }, { degraded }), isHeld)).toBe(false);
});

test('what is ahead takes at least a window for each further fill of a limit', () => {
  const least = (total: number, waits = { rate: 5, places: 0 }) => leastMs(refusal(waits), total, isHeld);
  expect([1, 10, 20, 21, 30, 31, 100].map((total) => least(total))).toEqual([0, 0, 0, 1000, 1000, 2000, 8000]);
  expect(leastMs(refusal({ places: 5 }), 100, isHeld)).toBe(0);
  expect(leastMs(refusal({ rate: 5 }, { degraded }), 100, isHeld)).toBe(0);
});

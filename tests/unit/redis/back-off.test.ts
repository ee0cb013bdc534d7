import { expect, test } from 'vitest';
import { backOffMs, steadyBackOff } from '../../../packages/comporta/src/redis/back-off.js';

test('waits grow to half a second and no further, and are spread by chance', () => {
  for (const [attempt, longestMs] of [
    [0, 50],
    [1, 100],
    [2, 200],
    [3, 400],
    [4, 500],
    [1000, 500],
  ] as const) {
    const waits = Array.from({ length: 200 }, () => backOffMs(attempt));
    expect(Math.max(...waits)).toBeLessThanOrEqual(longestMs);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(longestMs / 2);
    expect(new Set(waits).size).toBeGreaterThan(10);
  }
});

test('a client that forgets how often it tried waits longer all the same, until it was calm for a while', () => {
  let nowMs = 1000;
  const wait = steadyBackOff(() => nowMs);
  const waits = Array.from({ length: 10 }, () => {
    const waitMs = wait(0);
    nowMs += waitMs;
    return waitMs;
  });
  expect(waits[0]).toBeLessThanOrEqual(50);
  expect(Math.min(...waits.slice(4))).toBeGreaterThanOrEqual(250);
  nowMs += 2000;
  expect(wait(0)).toBeLessThanOrEqual(50);
  expect(wait(7)).toBeGreaterThanOrEqual(250);
});

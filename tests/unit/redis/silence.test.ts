import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RedisNode } from '../../../packages/comporta/src/redis/client.js';
import { SilenceWatch } from '../../../packages/comporta/src/redis/silence.js';

const START_MS = 1_000_000;

function setUp() {
  const watch = new SilenceWatch();
  let givenUp = 0;
  const node: RedisNode = {
    address: 'redis',
    isReady: () => true,
    send: () => new Promise(() => undefined),
    reconnect: () => void givenUp++,
  };
  return { watch, node, givenUp: () => givenUp };
}

/** When a connection that answers nothing is given up, asked every 10 ms by callers with one time limit. */
function givenUpAfterMs(limitMs: number, other?: { readonly limitMs: number; readonly atMs: number }): number {
  const { watch, node, givenUp } = setUp();
  for (let ms = 0; ms < 100_000; ms += 10) {
    if (other?.atMs === ms) watch.sent(node, START_MS + ms, other.limitMs);
    watch.sent(node, START_MS + ms, limitMs);
    if (ms >= limitMs) watch.timedOut(node, START_MS + ms);
    if (givenUp() > 0) return ms;
  }
  return Number.POSITIVE_INFINITY;
}

describe('a connection that answers nothing', () => {
  test('is given up after half a second, or after the time limit of its callers if that is longer', () => {
    expect([10, 50, 500, 2000, 60_000].map((limitMs) => givenUpAfterMs(limitMs))).toEqual([
      500, 500, 500, 2000, 60_000,
    ]);
  });

  test('is kept for one caller who waits longer than the others, until its time is over', () => {
    expect(givenUpAfterMs(50, { limitMs: 2000, atMs: 0 })).toBe(2000);
    expect(givenUpAfterMs(50, { limitMs: 2000, atMs: 400 })).toBe(2000);
  });

  test('is kept for a caller who was there before the answer to another', () => {
    const { watch, node, givenUp } = setUp();
    watch.sent(node, START_MS, 50);
    watch.sent(node, START_MS + 1, 2000);
    watch.answered(node);
    for (let ms = 10; ms < 2000; ms += 10) {
      watch.sent(node, START_MS + ms, 50);
      watch.timedOut(node, START_MS + ms);
    }
    expect(givenUp()).toBe(0);
    watch.timedOut(node, START_MS + 2010);
    expect(givenUp()).toBe(1);
  });

  test('is not kept for one who waited long ago', () => {
    const { watch, node, givenUp } = setUp();
    watch.sent(node, START_MS, 2000);
    watch.answered(node);
    watch.sent(node, START_MS + 10_000, 50);
    watch.timedOut(node, START_MS + 10_499);
    expect(givenUp()).toBe(0);
    watch.timedOut(node, START_MS + 10_500);
    expect(givenUp()).toBe(1);
  });

  test('is given up once a second at most', () => {
    const { watch, node, givenUp } = setUp();
    for (let ms = 0; ms < 10_000; ms += 10) {
      watch.sent(node, START_MS + ms, 50);
      watch.timedOut(node, START_MS + ms);
    }
    expect(givenUp()).toBeGreaterThanOrEqual(8);
    expect(givenUp()).toBeLessThanOrEqual(10);
  });
});

test('what a lost connection owed, the next does not owe', () => {
  const { watch, node, givenUp } = setUp();
  watch.timedOut(node, START_MS);
  watch.wasDown(node, START_MS + 400);
  watch.timedOut(node, START_MS + 600);
  watch.timedOut(node, START_MS + 1090);
  expect(givenUp()).toBe(0);
  watch.timedOut(node, START_MS + 1100);
  expect(givenUp()).toBe(1);
});

test('a connection that is made anew has three seconds, however many ask meanwhile', () => {
  const { watch, node, givenUp } = setUp();
  watch.sent(node, START_MS, 50);
  for (let ms = 0; ms < 3000; ms += 10) watch.wasDown(node, START_MS + ms);
  expect(givenUp()).toBe(0);
  watch.wasDown(node, START_MS + 3000);
  expect(givenUp()).toBe(1);
});

test('a clock that steps back neither gives up at once nor never', () => {
  const { watch, node, givenUp } = setUp();
  watch.sent(node, START_MS, 2000);
  watch.timedOut(node, 1000);
  expect(givenUp()).toBe(0);
  watch.timedOut(node, 1500);
  expect(givenUp()).toBe(1);
});

test('no connection is given up while anybody who asked it within its limit still waits', () => {
  const call = fc.record({ atMs: fc.nat(3000), limitMs: fc.constantFrom(10, 50, 600, 2000) });
  fc.assert(
    fc.property(fc.array(call, { minLength: 1, maxLength: 30 }), (calls) => {
      const { watch, node, givenUp } = setUp();
      const first = Math.min(...calls.map(({ atMs }) => atMs));
      for (let ms = 0; ms <= 6000; ms += 1) {
        for (const { atMs, limitMs } of calls) if (atMs === ms) watch.sent(node, START_MS + ms, limitMs);
        const due = calls.filter(({ atMs, limitMs }) => atMs + limitMs === ms);
        for (const _ of due) watch.timedOut(node, START_MS + ms);
        if (givenUp() === 0) continue;
        const waiting = calls.filter(({ atMs, limitMs }) => atMs < ms && atMs + limitMs > ms);
        // Whoever came later than the first may lose its call only after a silence as long as its own limit.
        expect(waiting.every(({ limitMs }) => ms - first >= limitMs)).toBe(true);
        return;
      }
    }),
  );
});

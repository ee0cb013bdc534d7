import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BREAKER_DEFAULTS } from '../../../packages/comporta/src/resilience/breaker.js';
import { NodeBreakers } from '../../../packages/comporta/src/resilience/node-breakers.js';

const { consecutiveFailures } = BREAKER_DEFAULTS;
const LONGEST_OPEN_MS = BREAKER_DEFAULTS.openMaxMs * 1.25;

function setUp(...limits: readonly number[]) {
  const changes: string[] = [];
  const breakers = new NodeBreakers(BREAKER_DEFAULTS, (state, limitMs) => changes.push(`${limitMs} ${state}`));
  for (const limitMs of limits) breakers.admit(limitMs, 0, limitMs);
  const fail = (limitMs: number, nowMs: number, isTimeout: boolean, times = consecutiveFailures): void => {
    for (let i = 0; i < times; i++) breakers.failure(limitMs, nowMs, { isTimeout, sentAtMs: nowMs, chance: 0.5 });
  };
  return { breakers, changes, fail };
}

describe('a node that is too slow for one time limit', () => {
  test('is asked on behalf of every other, longer or shorter', () => {
    const { breakers, changes, fail } = setUp(20, 50, 2000);
    fail(50, 1000, true, 20);
    expect([20, 50, 2000].map((limitMs) => breakers.state(limitMs))).toEqual(['closed', 'open', 'closed']);
    expect(changes).toEqual(['50 open']);
    expect(breakers.admit(2000, 1001, 2000)).toBe('call');
    expect(breakers.admit(50, 1001, 50)).toBe('refused');
  });

  test('stays closed to that limit, however many answers come within a longer one', () => {
    const { breakers, fail } = setUp(50, 2000);
    fail(50, 1000, true);
    for (let i = 0; i < 100; i++) breakers.success(2000, 1001, 1001);
    expect(breakers.state(50)).toBe('open');
  });

  test('lives for all longer ones as soon as it answers a shorter one', () => {
    const { breakers, changes, fail } = setUp(50, 2000);
    fail(2000, 1000, true);
    breakers.success(50, 1010, 1005);
    expect(breakers.state(2000)).toBe('closed');
    expect(changes).toEqual(['2000 open', '2000 closed']);
  });

  test('is not taken for alive by an answer to a question from before it failed', () => {
    const { breakers, fail } = setUp(50, 2000);
    fail(2000, 1000, true);
    breakers.success(50, 1010, 990);
    expect(breakers.state(2000)).toBe('open');
  });
});

describe('a node that refuses', () => {
  test('refuses everybody, told once for each time limit', () => {
    const { breakers, changes, fail } = setUp(50, 2000);
    fail(2000, 1000, false);
    expect([50, 2000].map((limitMs) => breakers.state(limitMs))).toEqual(['open', 'open']);
    expect(changes).toEqual(['50 open', '2000 open']);
  });

  test('is open to everybody by any answer, so that a limit which nobody uses any more does not stay', () => {
    const { breakers, changes, fail } = setUp(10, 50, 2000);
    fail(50, 1000, false);
    breakers.success(2000, 1010, 1005);
    expect([10, 50, 2000].map((limitMs) => breakers.state(limitMs))).toEqual(['closed', 'closed', 'closed']);
    expect(changes.slice(3)).toEqual(['10 closed', '50 closed', '2000 closed']);
  });

  test('and then is only slow is judged by time again', () => {
    const { breakers, fail } = setUp(50, 2000);
    fail(50, 1000, false);
    breakers.success(2000, 1010, 1005);
    fail(50, 1100, true);
    breakers.success(2000, 1210, 1205);
    expect([breakers.state(50), breakers.state(2000)]).toEqual(['open', 'closed']);
  });
});

test('each time limit has a probe of its own', () => {
  const { breakers, changes, fail } = setUp(50, 2000);
  fail(50, 1000, false);
  expect(breakers.admit(50, 1101, 50)).toBe('probe');
  expect(breakers.admit(50, 1102, 50)).toBe('refused');
  expect(breakers.admit(2000, 1103, 2000)).toBe('probe');
  expect(changes.slice(2)).toEqual(['50 halfOpen', '2000 halfOpen']);
});

test('sixteen time limits have a breaker each, further ones share that of the nearest', () => {
  const limits = Array.from({ length: 16 }, (_, i) => (i + 1) * 100);
  const { breakers, changes, fail } = setUp(...limits);
  fail(1590, 1000, true);
  fail(90_000, 2000, true);
  expect(changes).toEqual(['1600 open']);
  breakers.admit(1590, 2200, 1590);
  breakers.success(1590, 2201, 2200);
  expect(limits.map((limitMs) => breakers.state(limitMs))).toEqual(limits.map(() => 'closed'));
  for (let limitMs = 1; limitMs < 60_000; limitMs += 7) breakers.admit(limitMs, 3000, limitMs);
  fail(50, 4000, false);
  expect(changes.filter((change) => change.endsWith('open')).length).toBe(1 + limits.length);
});

type Step = readonly ['admit' | 'success' | 'timeout' | 'refusal', number, number];
const LIMITS = [10, 50, 2000] as const;
const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom('admit', 'success', 'timeout', 'refusal'),
  fc.constantFrom(...LIMITS),
  fc.integer({ min: 0, max: 400 }),
);

function play(steps: readonly Step[]) {
  const { breakers, changes } = setUp(...LIMITS);
  let nowMs = 1000;
  for (const [what, limitMs, passedMs] of steps) {
    nowMs += passedMs;
    if (what === 'admit') breakers.admit(limitMs, nowMs, limitMs);
    else if (what === 'success') breakers.success(limitMs, nowMs, nowMs - 1);
    else breakers.failure(limitMs, nowMs, { isTimeout: what === 'timeout', sentAtMs: nowMs - 1, chance: 1 });
  }
  return { breakers, changes, nowMs };
}

test('whatever happened before, a node is asked again within a second or the wait for a probe', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      for (const limitMs of LIMITS) {
        const { breakers, nowMs } = play(steps);
        const waitMs = Math.max(LONGEST_OPEN_MS, limitMs);
        expect(breakers.admit(limitMs, nowMs + waitMs, limitMs)).not.toBe('refused');
      }
    }),
    { numRuns: 1000 },
  );
});

test('whatever happened before, timeouts of one limit change the state of no other', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), fc.constantFrom(...LIMITS), (steps, limitMs) => {
      const { breakers, nowMs } = play(steps);
      const others = LIMITS.filter((other) => other !== limitMs);
      const before = others.map((other) => breakers.state(other));
      for (let i = 0; i < 30; i++) {
        breakers.failure(limitMs, nowMs + i, { isTimeout: true, sentAtMs: nowMs + i, chance: 0 });
      }
      expect(others.map((other) => breakers.state(other))).toEqual(before);
    }),
  );
});

test('each change of state is told once, in order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { breakers, changes } = play(steps);
      for (const limitMs of LIMITS) {
        const own = changes.flatMap((change) => {
          const [limit, state] = change.split(' ');
          return limit === String(limitMs) ? [state] : [];
        });
        expect(own.at(-1) ?? 'closed').toBe(breakers.state(limitMs));
        const doubles = own.filter((state, i) => state === own[i - 1] && state !== 'halfOpen');
        expect(doubles).toEqual([]);
      }
    }),
  );
});

import { slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { Hold, LimitsHold } from '../../../packages/comporta/src/limiter/hold.js';
import type { StoreReply } from '../../../packages/comporta/src/stores/store.js';

/** A reply that leaves `remaining` for `nextMs`, when one more comes. */
const says = (atUs: number, remaining: number, nextMs: number): StoreReply => ({
  atUs,
  numbers: [remaining, remaining > 0 ? 0 : nextMs, 900, nextMs],
});

function started(limit = slidingWindow({ limit: 2, window: '1s' })) {
  let nowUs = 5_000_000;
  const hold = new Hold();
  const of = new LimitsHold(hold, withIds([limit], 'limits'), { longestMs: 20, nowUs: () => nowUs });
  return {
    hold,
    of,
    pass: (us: number) => {
      nowUs += us;
    },
    /** Whether a subject is refused now. */
    isHeld: (subject = 's') => of.answer(subject, 1) !== undefined,
  };
}

describe('answers that overtake others', () => {
  test('a refusal from before a change holds nobody after it', () => {
    const { of, isHeld } = started();
    const [early, other] = [of.sent(), of.sent()];
    of.drop('s');
    of.heard('s', 1, early, says(1_000_000, 0, 900));
    expect(isHeld()).toBe(false);
    of.heard('t', 1, other, says(1_000_000, 0, 900));
    expect(isHeld('t')).toBe(true);
    of.heard('s', 1, of.sent(), says(1_000_001, 0, 900));
    expect(isHeld()).toBe(true);
  });

  test('nor when so much was changed since that it is not known any more', () => {
    const { of, isHeld } = started();
    const early = of.sent();
    for (let i = 0; i <= 1000; i++) of.drop(`other${i}`);
    of.heard('s', 1, early, says(1_000_000, 0, 900));
    expect(isHeld()).toBe(false);
    of.heard('s', 1, of.sent(), says(1_000_001, 0, 900));
    expect(isHeld()).toBe(true);
  });

  test('the older one changes nothing', () => {
    const { of, isHeld } = started();
    const [older, newer] = [of.sent(), of.sent()];
    of.heard('s', 1, newer, says(1_000_100, 0, 900));
    of.heard('s', 1, older, says(1_000_000, 1, 900));
    expect(isHeld()).toBe(true);
    of.heard('s', 1, newer, says(1_000_200, 1, 900));
    expect(isHeld()).toBe(false);
  });

  test('one that comes when its hold would be over makes none', () => {
    const { hold, of, pass } = started();
    const sent = of.sent();
    pass(20_000);
    of.heard('s', 1, sent, says(1_000_000, 0, 900));
    expect(hold.size).toBe(0);
  });
});

describe('the last millisecond before there is room', () => {
  test('of a limit that changes at any time belongs to the store', () => {
    const { of, pass, isHeld } = started();
    of.heard('s', 1, of.sent(), says(1_000_400, 0, 7));
    pass(6000);
    expect(of.answer('s', 1)?.numbers).toEqual([0, 1, 894, 1]);
    pass(1);
    expect(isHeld()).toBe(false);
  });

  test('of one that changes with whole milliseconds is held to its end', () => {
    const { of, pass, isHeld } = started(tokenBucket({ capacity: 100, refill: 1, every: 100 }));
    of.heard('s', 1, of.sent(), says(1_000_400, 0, 7));
    pass(6599);
    expect(of.answer('s', 1)?.numbers).toEqual([0, 1, 894, 1]);
    pass(1);
    expect(isHeld()).toBe(false);
  });

  test('of a block belongs to the store', () => {
    const { of, pass, isHeld } = started();
    of.heard('s', 1, of.sent(), { atUs: 1_000_000, numbers: [], blockedMs: 7 });
    pass(6000);
    expect(of.answer('s', 9)).toEqual({ atUs: 1_006_000, numbers: [], blockedMs: 1 });
    pass(1);
    expect(isHeld()).toBe(false);
  });
});

describe('memory', () => {
  test('is for ten thousand subjects; the oldest are asked for again', () => {
    const { hold, of, isHeld } = started();
    for (let i = 0; i <= 10_000; i++) of.heard(`s${i}`, 1, of.sent(), says(1_000_000, 0, 900));
    expect(hold.size).toBe(10_000);
    expect([isHeld('s0'), isHeld('s1'), isHeld('s10000')]).toEqual([false, true, true]);
  });

  test('of those whose time is over is freed by those that come', () => {
    const { hold, of, pass } = started();
    for (let i = 0; i < 100; i++) of.heard(`s${i}`, 1, of.sent(), says(1_000_000, 0, 900));
    pass(20_000);
    of.heard('new', 1, of.sent(), says(1_020_000, 0, 900));
    expect(hold.size).toBe(1);
  });

  test('of a long name is short', () => {
    const { of, isHeld } = started();
    of.heard('x'.repeat(1000), 1, of.sent(), says(1_000_000, 0, 900));
    expect([isHeld('x'.repeat(1000)), isHeld('x'.repeat(1001))]).toEqual([true, false]);
  });

  test('holds nobody who has room', () => {
    const { hold, of } = started();
    of.heard('s', 1, of.sent(), says(1_000_000, 1, 900));
    expect(hold.size).toBe(0);
  });
});

test('what did not come from the store holds nobody', () => {
  const { hold, of } = started();
  const degraded = { mode: 'local', cause: 'timeout', detail: '' } as const;
  of.heard('s', 1, of.sent(), { ...says(1_000_000, 0, 900), degraded });
  of.heard('s', 1, of.sent(), { atUs: 1_000_000, numbers: [], terms: 'o{}' });
  expect(hold.size).toBe(0);
});

import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../packages/server/src/alerts/alert.js';
import { Conditions } from '../../../packages/server/src/alerts/conditions.js';
import { factOf } from './support.js';

const COOLDOWN_MS = 300_000;
const unavailable = factOf();
const misconfigured = factOf({ kind: 'store.misconfigured' });
const breaker = factOf({ kind: 'breaker.open', target: '10.0.0.1:6379' });
const keyOf = ({ kind, target }: Fact): string => `${kind}:${target}`;

/** A machine with a clock: each step says what was told, as `time status key`. */
function machine(): {
  readonly told: string[];
  readonly conditions: Conditions;
  raise(atMs: number, fact: Fact): void;
  clear(atMs: number, fact: Fact): void;
  runUntil(endMs: number): void;
} {
  const conditions = new Conditions(COOLDOWN_MS);
  const told: string[] = [];
  const tell = (nowMs: number): void => {
    for (const { status, key } of conditions.advance(nowMs)) told.push(`${nowMs} ${status} ${key}`);
  };
  const runUntil = (endMs: number): void => {
    for (let dueMs = conditions.nextDueMs(); dueMs !== undefined && dueMs <= endMs; dueMs = conditions.nextDueMs()) {
      tell(dueMs);
    }
  };
  const at = (nowMs: number, change: () => boolean): void => {
    runUntil(nowMs);
    if (change()) tell(nowMs);
  };
  return {
    told,
    conditions,
    runUntil,
    raise: (atMs, fact) => at(atMs, () => conditions.raise(fact, atMs)),
    clear: (atMs, fact) => at(atMs, () => conditions.clear(keyOf(fact), atMs)),
  };
}

describe('conditions', () => {
  it('tell an outage once, and its end once', () => {
    const { told, raise, clear, runUntil } = machine();
    for (let atMs = 0; atMs <= 60_000; atMs += 10) raise(atMs, unavailable);
    clear(60_001, unavailable);
    clear(60_002, unavailable);
    runUntil(1_000_000);
    expect(told).toEqual(['2000 firing store.unavailable:per-client', '65001 resolved store.unavailable:per-client']);
  });

  it('tell at once what only a person can mend', () => {
    const { told, raise } = machine();
    raise(7, misconfigured);
    expect(told).toEqual(['7 firing store.misconfigured:per-client']);
  });

  it.each([
    ['a store', unavailable, 1999],
    ['a breaker', breaker, 4999],
  ])('keep quiet about a blip of %s', (_, fact, lengthMs) => {
    const { told, conditions, raise, clear, runUntil } = machine();
    raise(0, fact);
    clear(lengthMs, fact);
    runUntil(1_000_000);
    expect(told).toEqual([]);
    expect([conditions.active(), conditions.nextDueMs()]).toEqual([[], undefined]);
  });

  it('tell of a breaker that flaps for the grace time, and of its end when it is calm', () => {
    const { told, raise, clear, runUntil } = machine();
    for (let atMs = 0; atMs < 20_000; atMs += 1000) {
      raise(atMs, breaker);
      clear(atMs + 500, breaker);
    }
    runUntil(1_000_000);
    expect(told).toEqual(['5000 firing breaker.open:10.0.0.1:6379', '24500 resolved breaker.open:10.0.0.1:6379']);
  });

  it('start the grace time anew after a gap as long', () => {
    const { told, raise, clear, runUntil } = machine();
    for (const atMs of [0, 3000, 6000, 9000]) {
      raise(atMs, unavailable);
      clear(atMs + 900, unavailable);
    }
    runUntil(1_000_000);
    expect(told).toEqual([]);
  });

  it('tell the same alert again after the cool-down at the earliest', () => {
    const { told, raise, clear, runUntil } = machine();
    raise(0, misconfigured);
    clear(1000, misconfigured);
    raise(10_000, misconfigured);
    runUntil(1_000_000);
    expect(told).toEqual([
      '0 firing store.misconfigured:per-client',
      '6000 resolved store.misconfigured:per-client',
      `${COOLDOWN_MS} firing store.misconfigured:per-client`,
    ]);
  });

  it('say nothing of what came and went within the cool-down', () => {
    const { told, conditions, raise, clear, runUntil } = machine();
    raise(0, misconfigured);
    clear(1000, misconfigured);
    raise(10_000, misconfigured);
    clear(20_000, misconfigured);
    runUntil(1_000_000);
    expect(told).toHaveLength(2);
    expect(conditions.nextDueMs()).toBeUndefined();
  });

  it('keep things apart', () => {
    const { told, raise, runUntil } = machine();
    for (const target of ['a', 'b']) raise(0, factOf({ target }));
    raise(0, breaker);
    runUntil(10_000);
    expect(told.sort()).toEqual([
      '2000 firing store.unavailable:a',
      '2000 firing store.unavailable:b',
      '5000 firing breaker.open:10.0.0.1:6379',
    ]);
  });

  it('end what is never heard of again: a node that has left the cluster', () => {
    const { told, conditions, raise, runUntil } = machine();
    raise(0, breaker);
    raise(10_000, breaker);
    runUntil(1_000_000);
    expect(told).toEqual(['5000 firing breaker.open:10.0.0.1:6379', '75000 resolved breaker.open:10.0.0.1:6379']);
    expect(conditions.active()).toEqual([]);
  });

  it('know what is on', () => {
    const { conditions, raise, clear, runUntil } = machine();
    raise(0, unavailable);
    expect([conditions.active().length, conditions.firing().length]).toEqual([1, 0]);
    runUntil(2000);
    expect(conditions.firing()).toMatchObject([{ status: 'firing', startsAtMs: 0, endsAtMs: undefined }]);
    clear(3000, unavailable);
    runUntil(8000);
    expect([conditions.active().length, conditions.firing().length]).toEqual([0, 0]);
  });
});

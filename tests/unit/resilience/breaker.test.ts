import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BREAKER_DEFAULTS, Breaker } from '../../../packages/comporta/src/resilience/breaker.js';

const { consecutiveFailures, minimumCalls, windowMs, openMs, openMaxMs } = BREAKER_DEFAULTS;
const PROBE_MS = 50;
const LONGEST_OPEN_MS = openMaxMs * 1.25;

/** A breaker that was just opened at `nowMs` by failures in a row. */
function opened(nowMs: number, chance = 0.5): Breaker {
  const breaker = new Breaker();
  for (let i = 0; i < consecutiveFailures; i++) breaker.failure(nowMs, chance);
  expect(breaker.state.kind).toBe('open');
  return breaker;
}

describe('closed', () => {
  test('lets calls through, also after failures that are not in a row', () => {
    const breaker = new Breaker();
    for (let i = 0; i < 10; i++) {
      breaker.success(i);
      breaker.success(i);
      breaker.failure(i, 0.5);
    }
    expect(breaker.admit(10, PROBE_MS)).toBe('call');
  });

  test('opens on failures in a row, not one earlier', () => {
    const breaker = new Breaker();
    for (let i = 0; i < consecutiveFailures - 1; i++) breaker.failure(0, 0.5);
    expect(breaker.state.kind).toBe('closed');
    breaker.failure(0, 0.5);
    expect(breaker.state.kind).toBe('open');
  });

  test('opens when half of enough calls failed, though never in a row', () => {
    const breaker = new Breaker();
    for (let i = 0; i < minimumCalls / 2; i++) {
      breaker.success(0);
      expect(breaker.state.kind).toBe('closed');
      breaker.failure(0, 0.5);
    }
    expect(breaker.state.kind).toBe('open');
  });

  test('forgets failures of an earlier window', () => {
    const breaker = new Breaker();
    for (let i = 0; i < minimumCalls * 2; i++) {
      const nowMs = i * (windowMs / 4);
      if (i % 2 === 0) breaker.success(nowMs);
      else breaker.failure(nowMs, 0.5);
    }
    expect(breaker.state.kind).toBe('closed');
  });
});

test('of calls that were under way together one failure counts, so one pause of a node is no outage', () => {
  const breaker = new Breaker();
  for (let i = 0; i < 10; i++) breaker.failure(50, 0.5, i);
  expect(breaker.state.kind).toBe('closed');
  breaker.failure(100, 0.5, 50);
  expect(breaker.state.kind).toBe('closed');
  breaker.failure(150, 0.5, 100);
  expect(breaker.state.kind).toBe('open');
});

describe('open', () => {
  test('refuses until its time is over, then lets one probe through and nobody beside it', () => {
    const breaker = opened(1000);
    expect(breaker.admit(1000 + openMs - 1, PROBE_MS)).toBe('refused');
    expect(breaker.admit(1000 + openMs, PROBE_MS)).toBe('probe');
    expect(breaker.admit(1000 + openMs, PROBE_MS)).toBe('refused');
    expect(breaker.admit(1000 + openMs + PROBE_MS - 1, PROBE_MS)).toBe('refused');
  });

  test('a probe that never reports makes way for another', () => {
    const breaker = opened(1000);
    breaker.admit(1000 + openMs, PROBE_MS);
    expect(breaker.admit(1000 + openMs + PROBE_MS, PROBE_MS)).toBe('probe');
  });

  test('closes when the probe succeeds', () => {
    const breaker = opened(1000);
    breaker.admit(1000 + openMs, PROBE_MS);
    breaker.success(1000 + openMs + 1);
    expect(breaker.admit(1000 + openMs + 1, PROBE_MS)).toBe('call');
  });

  test('stays open for longer after each failed probe, up to a bound', () => {
    let nowMs = 1000;
    const breaker = opened(nowMs);
    const waits: number[] = [];
    for (let i = 0; i < 6; i++) {
      const fromMs = nowMs;
      while (breaker.admit(nowMs, PROBE_MS) !== 'probe') nowMs++;
      waits.push(nowMs - fromMs);
      breaker.failure(nowMs, 0.5);
    }
    expect(waits).toEqual([100, 200, 400, 400, 400, 400]);
  });

  test('a node that comes and goes is left alone for longer each time, a calm one is forgiven', () => {
    const breaker = new Breaker();
    const openFor = (atMs: number): number => {
      for (let i = 0; i < consecutiveFailures; i++) breaker.failure(atMs, 0.5);
      let waitMs = 0;
      while (breaker.admit(atMs + waitMs, PROBE_MS) !== 'probe') waitMs++;
      breaker.success(atMs + waitMs);
      return waitMs;
    };
    expect([openFor(20_000), openFor(22_000), openFor(24_000)]).toEqual([100, 200, 400]);
    expect(openFor(60_000)).toBe(100);
  });

  test('chance spreads processes, so that they do not probe together', () => {
    const waits = [0, 0.5, 1].map((chance) => {
      const breaker = opened(1000, chance);
      let waitMs = 0;
      while (breaker.admit(1000 + waitMs, PROBE_MS) !== 'probe') waitMs++;
      return waitMs;
    });
    expect(waits).toEqual([75, 100, 125]);
  });

  test('late results of calls made before it opened change nothing', () => {
    const breaker = opened(1000);
    const before = breaker.state;
    breaker.success(1001, 999);
    breaker.failure(1001, 0.5);
    expect(breaker.state).toEqual(before);
  });

  test('closes by the answer to a call that was let through elsewhere after it opened', () => {
    const breaker = opened(1000);
    breaker.success(1003, 1001);
    expect(breaker.admit(1003, PROBE_MS)).toBe('call');
  });
});

type Event = readonly ['admit' | 'success' | 'failure', number];
const event: fc.Arbitrary<Event> = fc.tuple(
  fc.constantFrom('admit', 'success', 'failure'),
  fc.integer({ min: 0, max: 400 }),
);

test('whatever happened before, a node that answers is asked again within a second', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), (events) => {
      const breaker = new Breaker();
      let nowMs = 1000;
      for (const [what, passedMs] of events) {
        nowMs += passedMs;
        if (what === 'admit') breaker.admit(nowMs, PROBE_MS);
        else if (what === 'success') breaker.success(nowMs);
        else breaker.failure(nowMs, 1);
      }
      expect(breaker.admit(nowMs + LONGEST_OPEN_MS, PROBE_MS)).not.toBe('refused');
    }),
    { numRuns: 2000 },
  );
});

test('a clock that steps back does not keep it open', () => {
  const breaker = opened(10_000_000);
  expect(breaker.admit(1000, PROBE_MS)).toBe('probe');
});

test('between two outcomes of open and half-open at most one call is under way', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 50, maxLength: 300 }), (steps) => {
      const breaker = opened(1000);
      let nowMs = 1000;
      let lastProbeMs = Number.NEGATIVE_INFINITY;
      for (const passedMs of steps) {
        nowMs += passedMs;
        const admission = breaker.admit(nowMs, PROBE_MS);
        expect(admission).not.toBe('call');
        if (admission !== 'probe') continue;
        expect(nowMs - lastProbeMs).toBeGreaterThanOrEqual(PROBE_MS);
        lastProbeMs = nowMs;
      }
    }),
  );
});

import { fixedWindow, type Limit, memoryStore, type PolicyStore, slidingWindow, tokenBucket } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { MemoryPolicy } from '../../../packages/comporta/src/stores/memory-policy.js';
import { MemoryTable } from '../../../packages/comporta/src/stores/memory-table.js';
import type { StoreReply } from '../../../packages/comporta/src/stores/store.js';
import { FakeClock } from '../../support/fake-clock.js';
import { isAllowed, MemoryBench, numbersOf } from '../../support/memory-bench.js';
import { refusalOf } from '../../support/refusal.js';
import { twoTexts } from './texts.js';

const three = slidingWindow({ limit: 3, window: '1s' });
const planOf = (policy: string, ...limits: Limit[]) => ({ policy, limits: withIds(limits) });

/** The memory store answers at once. */
const consume = (policy: PolicyStore, subject: string, cost = 1) => policy.consume(subject, cost) as StoreReply;
const left = (policy: PolicyStore, subject: string) => numbersOf(policy.peek(subject, 0) as StoreReply).remaining;

describe('options', () => {
  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 10_000_001, '100', null])(
    'maxSubjects %j is refused',
    (maxSubjects) => {
      const options = { maxSubjects } as unknown as Parameters<typeof memoryStore>[0];
      const { code, field, text } = refusalOf(() => memoryStore(options));
      expect({ code, field }).toEqual({ code: 'ERR_OPTION', field: 'maxSubjects' });
      expect(text).toContain('from 1 to 10000000');
    },
  );

  test.each([1, 10_000_000])('maxSubjects %i is accepted', (maxSubjects) => {
    expect(memoryStore({ maxSubjects }).kind).toBe('memory');
  });
});

describe('counts', () => {
  test('of two policies on one store never meet', () => {
    const store = memoryStore({ clock: new FakeClock() });
    const [a, b] = [store.bind(planOf('a', three)), store.bind(planOf('b', three))];
    for (let i = 0; i < 3; i++) consume(a, 's');
    expect([left(a, 's'), left(b, 's')]).toEqual([0, 3]);
  });

  test('of one policy bound twice are the same', () => {
    const store = memoryStore({ clock: new FakeClock() });
    const [a, b] = [store.bind(planOf('a', three)), store.bind(planOf('a', three))];
    expect([a, b, a, b].map((policy) => isAllowed(consume(policy, 's')))).toEqual([true, true, true, false]);
  });

  test('of two stores never meet', () => {
    const clock = new FakeClock();
    const [a, b] = [memoryStore({ clock }).bind(planOf('a', three)), memoryStore({ clock }).bind(planOf('a', three))];
    consume(a, 's');
    expect([left(a, 's'), left(b, 's')]).toEqual([2, 3]);
  });

  test('of different subjects never meet, whatever text they are', () => {
    const store = memoryStore({ clock: new FakeClock(), maxSubjects: 1_000_000 });
    fc.assert(
      fc.property(twoTexts, ([one, two]) => {
        const policy = store.bind(planOf('a', three));
        policy.reset(one);
        policy.reset(two);
        consume(policy, one, 3);
        expect([left(policy, one), left(policy, two)]).toEqual([0, 3]);
      }),
      { numRuns: 2000 },
    );
  });

  test('of limits with different algorithms under one id never meet', () => {
    const store = memoryStore({ clock: new FakeClock() });
    const bucket = tokenBucket({ capacity: 3, refill: 1, every: '1s', id: 'x' });
    consume(store.bind(planOf('a', slidingWindow({ limit: 3, window: '1s', id: 'x' }))), 's');
    expect(left(store.bind(planOf('a', bucket)), 's')).toBe(3);
  });
});

describe('several limits', () => {
  test('are charged together or not at all: 31 calls in 2 minutes leave 20 of 30 after the 10 that pass', () => {
    const bench = new MemoryBench([
      slidingWindow({ limit: 10, window: '1m' }),
      slidingWindow({ limit: 30, window: '30m' }),
    ]);
    for (let i = 0; i < 31; i++) bench.policy.consume('s', 1);
    const reply = bench.policy.peek('s', 0);
    expect([numbersOf(reply, 0).remaining, numbersOf(reply, 1).remaining]).toEqual([0, 20]);
  });
});

describe('a look', () => {
  test('changes nothing on a new, a used or an exhausted subject, a hundred times over', () => {
    for (const limit of [
      three,
      tokenBucket({ capacity: 3, refill: 1, every: '1s' }),
      fixedWindow({ limit: 3, window: '1s' }),
    ]) {
      const bench = new MemoryBench([limit]);
      for (const cost of [0, 1, 2]) {
        if (cost > 0) bench.policy.consume('s', cost);
        const before = [bench.snapshot('s'), bench.ttlMs('s')];
        for (let i = 0; i < 100; i++) bench.policy.peek('s', i % 5);
        expect([bench.snapshot('s'), bench.ttlMs('s')]).toEqual(before);
      }
      expect(numbersOf(bench.policy.peek('s', 0)).remaining).toBe(0);
    }
  });
});

describe('memory', () => {
  /** Counts the subjects over all tables of a policy. */
  function watched(limit: Limit, maxSubjects: number) {
    const clock = new FakeClock();
    const tables: MemoryTable[] = [];
    const tableOf = () => {
      const table = new MemoryTable(maxSubjects);
      tables.push(table);
      return table;
    };
    const policy = new MemoryPolicy(planOf('p', limit), tableOf, clock);
    return { clock, policy, kept: () => tables.reduce((sum, table) => sum + table.subjects, 0) };
  }

  test('stays within the cap while a subject that is being refused keeps its refusals', () => {
    const { policy, kept } = watched(slidingWindow({ limit: 1, window: '1h' }), 1000);
    expect(isAllowed(policy.consume('attacker', 1))).toBe(true);
    for (let i = 0; i < 200_000; i++) {
      policy.consume(`decoy-${i}`, 1);
      if (i % 500 === 0) expect(isAllowed(policy.consume('attacker', 1))).toBe(false);
    }
    expect(kept()).toBe(1000);
  });

  test('goes back after a window, with the traffic that follows', () => {
    const { policy, clock, kept } = watched(tokenBucket({ capacity: 1, refill: 1, every: '1s' }), 100_000);
    for (let i = 0; i < 50_000; i++) policy.consume(`s${i}`, 1);
    expect(kept()).toBe(50_000);
    for (let i = 0; i < 26_000; i++) {
      clock.advance(2001);
      policy.consume(`s${i % 3}`, 1);
    }
    expect(kept()).toBeLessThanOrEqual(3);
  });

  test('is not given to long subjects: they are kept as a digest', () => {
    const set = vi.spyOn(MemoryTable.prototype, 'set');
    const { policy } = watched(three, 10);
    const long = 'x'.repeat(1_000_000);
    const { atUs } = policy.consume(long, 1);
    policy.refund({ subject: long, decisionId: 'd', atUs, amount: 1 });
    const names = set.mock.calls.map(([name]) => name.length);
    set.mockRestore();
    expect(names.length).toBeGreaterThan(1);
    expect(Math.max(...names)).toBeLessThanOrEqual(200);
  });

  test('of a log is bounded by its limit, not by who asks', () => {
    const bench = new MemoryBench([slidingWindow({ limit: 7, window: '1h' })]);
    for (let i = 0; i < 10_000; i++, bench.nowUs += 1000) bench.policy.consume('s', 1);
    expect((bench.state('s') as { entries: unknown[] }).entries).toHaveLength(7);
  });
});

test('a memory store sets no timer and holds no handle, however long its windows', async () => {
  const before = process.getActiveResourcesInfo().toSorted();
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const policy = store.bind(planOf('a', slidingWindow({ limit: 3, window: 31_536_000_000 })));
  for (let i = 0; i < 1000; i++) consume(policy, `s${i}`);
  await store.ping();
  expect(clock.timers).toBe(0);
  expect(process.getActiveResourcesInfo().toSorted()).toEqual(before);
  await store.close();
});

test('a reset forgets one subject under all limits and says how many were known', () => {
  const bench = new MemoryBench([three, tokenBucket({ capacity: 3, refill: 1, every: '1s' })]);
  bench.policy.consume('s', 3);
  bench.policy.consume('t', 3);
  expect([bench.policy.reset('s'), bench.policy.reset('s')]).toEqual([2, 0]);
  expect([bench.policy.consume('s', 1), bench.policy.consume('t', 1)].map(isAllowed)).toEqual([true, false]);
});

test('a subject whose state has ended is not one that a reset removes', () => {
  const bench = new MemoryBench([three]);
  bench.policy.consume('s', 1);
  bench.nowUs += 10_000_000;
  expect(bench.policy.reset('s')).toBe(0);
});

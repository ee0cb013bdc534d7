import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryTable } from '../../../packages/comporta/src/stores/memory-table.js';
import { cpuMsOf } from '../../support/cpu.js';

const FOREVER = Number.MAX_SAFE_INTEGER;

/** Adds subjects that were never seen before. */
function flood(table: MemoryTable, count: number, expiresAtMs: number, nowMs = 0, name = 'flood'): void {
  for (let i = 0; i < count; i++) table.set(`${name}-${i}`, i, expiresAtMs, 1, nowMs);
}

describe('a table', () => {
  test('keeps the last state of a subject until it ends, and not at its end', () => {
    const table = new MemoryTable(10);
    table.set('s', 'first', 100, 1, 0);
    table.set('s', 'second', 200, 1, 50);
    expect([table.get('s', 199), table.ttlMs('s', 150)]).toEqual(['second', 50]);
    expect(table.get('s', 200)).toBeUndefined();
  });

  test('does not bring back what has ended when the clock steps back', () => {
    const table = new MemoryTable(10);
    table.set('s', 'state', 100, 1, 0);
    table.get('s', 100);
    expect(table.get('s', 0)).toBeUndefined();
    expect(table.subjects).toBe(0);
  });

  test('takes a state for a subject whose slot was found, and went since', () => {
    const table = new MemoryTable(10);
    table.set('s', 'first', 100, 1, 0);
    const found = table.find('s', 0);
    table.delete('s');
    table.put(found, 's', 'second', 100, 1, 0);
    expect([table.get('s', 0), table.subjects]).toEqual(['second', 1]);
  });

  test('forgets a subject when told to, and says whether it knew it', () => {
    const table = new MemoryTable(10);
    table.set('s', 'state', 100, 1, 0);
    expect([table.delete('s'), table.delete('s'), table.subjects]).toEqual([true, false, 0]);
  });
});

describe('the number of subjects', () => {
  test('is never above its cap, though a million different ones come', () => {
    const table = new MemoryTable(1000);
    for (let i = 0; i < 1_000_000; i++) {
      table.set(`s${i}`, i, FOREVER, 1, 0);
      if (table.subjects > 1000) expect(table.subjects).toBeLessThanOrEqual(1000);
    }
    expect(table.subjects).toBe(1000);
    expect(table.get('s999999', 0)).toBe(999_999);
  });

  test('costs as little per new subject in a large table as in a small one', () => {
    const timed = (cap: number) => {
      const table = new MemoryTable(cap);
      flood(table, cap, FOREVER);
      return cpuMsOf(() => flood(table, 100_000, FOREVER, 0, 'more'), 1);
    };
    const best = (cap: number) => Math.min(timed(cap), timed(cap), timed(cap));
    // Looking at all that is stored, or was, costs hundreds of times as much: any machine tells that apart.
    expect(best(100_000)).toBeLessThan(20 * best(100));
  });

  test.each([1, 2, 3])('may be as small as %i', (cap) => {
    const table = new MemoryTable(cap);
    flood(table, 100, FOREVER);
    expect(table.subjects).toBe(cap);
    expect(table.get('flood-99', 0)).toBe(99);
  });
});

test.each([1, 2, 3])('whoever is told of a loss may use a table of %i subjects', (cap) => {
  const told: number[] = [];
  const table: MemoryTable = new MemoryTable(cap, () => {
    told.push(table.subjects);
    if (told.length <= 3) table.set(`told${told.length}`, 0, FOREVER, 1, 0);
  });
  for (let i = 0; i < 5; i++) table.set(`s${i}`, i, FOREVER, 1, 0);
  expect(table.subjects).toBe(cap);
  expect(told.length).toBe(8 - cap);
  expect(Math.max(...told)).toBe(cap);
});

describe('room is made', () => {
  test('of what has ended before anything that still counts, under steady arrivals', () => {
    // Each lives for 250 arrivals, so 250 count at any time: a quarter of the cap.
    const table = new MemoryTable(1000);
    for (let now = 0; now < 20_000; now++) {
      table.set(`s${now}`, now, now + 250, 1, now);
      const oldest = Math.max(0, now - 249);
      if (table.get(`s${oldest}`, now) !== oldest) expect.fail(`s${oldest} was dropped at ${now}`);
    }
    expect(table.subjects).toBeLessThan(1000);
  });

  test('of subjects that were not seen again before those that were', () => {
    const table = new MemoryTable(100);
    for (let i = 0; i < 10_000; i++) {
      table.set('busy', i, FOREVER, 1, 0);
      flood(table, 50, FOREVER, 0, `flood${i}`);
      if (table.get('busy', 0) !== i) expect.fail(`dropped in round ${i}`);
    }
  });

  test('not of a subject that is only read: being refused is being busy', () => {
    const table = new MemoryTable(100);
    table.set('refused', 'state', FOREVER, 1, 0);
    for (let i = 0; i < 1000; i++) {
      expect(table.get('refused', 0)).toBe('state');
      flood(table, 50, FOREVER, 0, `flood${i}`);
    }
  });

  test('of a once busy subject too when it stays away', () => {
    const table = new MemoryTable(100);
    for (let i = 0; i < 5; i++) table.set('busy', i, FOREVER, 1, 0);
    flood(table, 300, FOREVER);
    expect(table.get('busy', 0)).toBeUndefined();
  });

  test('though every subject is busy', () => {
    const table = new MemoryTable(100);
    flood(table, 100, FOREVER);
    flood(table, 100, FOREVER);
    table.set('new', 'state', FOREVER, 1, 0);
    expect([table.subjects, table.get('new', 0)]).toEqual([100, 'state']);
  });
});

describe('what has ended', () => {
  test('is gone from a table after a window of other traffic', () => {
    const table = new MemoryTable(100_000);
    flood(table, 100_000, 1000);
    expect(table.subjects).toBe(100_000);
    flood(table, 100_000, 3000, 2000, 'later');
    for (let i = 0; i < 60_000; i++) table.set(`end-${i % 10}`, i, 9000, 1, 5000);
    expect(table.subjects).toBeLessThanOrEqual(10);
  });

  test('is gone after two rounds over the table, whatever was set, forgotten and pushed out before', () => {
    const step = fc.record({
      subject: fc.integer({ min: 0, max: 30 }).map((n) => `s${n}`),
      livesMs: fc.integer({ min: 1, max: 200 }),
      forget: fc.boolean(),
      waitMs: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const table = new MemoryTable(20);
        let now = 0;
        for (const { subject, livesMs, forget, waitMs } of steps) {
          now += waitMs;
          if (forget) table.delete(subject);
          else table.set(subject, 'state', now + livesMs, 1, now);
        }
        // All have ended but one; two are looked at with each charge.
        now += 200;
        for (let i = 0; i <= 2 * 20; i++) table.set('busy', i, FOREVER, 1, now);
        expect(table.subjects).toBe(1);
      }),
      { numRuns: 500 },
    );
  });

  test('is gone in the end of a table that was looked over before anything of it ended', () => {
    const table = new MemoryTable(1000);
    flood(table, 1000, 5000);
    for (let now = 0; now < 4000; now++) table.set('flood-0', now, now + 2, 1, now);
    for (let i = 0; i < 2000; i++) table.set('flood-0', i, FOREVER, 1, 5000);
    expect(table.subjects).toBe(1);
  });

  test('is looked for a little at a time', () => {
    const table = new MemoryTable(100_000);
    flood(table, 10_000, 1000);
    const before = table.subjects;
    table.set('one', 1, 9000, 1, 2000);
    expect(before - table.subjects).toBeLessThanOrEqual(4);
  });
});

describe('units', () => {
  /** Ten for each subject of the cap. */
  const unitsOf = (table: MemoryTable, sizes: ReadonlyMap<string, number>): number =>
    [...sizes].reduce((sum, [subject, size]) => sum + (table.get(subject, 0) === undefined ? 0 : size), 0);

  test('stay within ten per subject of the cap when large states come', () => {
    const table = new MemoryTable(10);
    const sizes = new Map(Array.from({ length: 50 }, (_, i) => [`s${i}`, 30] as const));
    for (const [subject, size] of sizes) table.set(subject, 'log', FOREVER, size, 0);
    expect(unitsOf(table, sizes)).toBe(90);
  });

  test('stay within it when the states of known subjects grow', () => {
    const table = new MemoryTable(10);
    const sizes = new Map<string, number>();
    for (let size = 1; size <= 60; size++) {
      for (let i = 0; i < 10; i++) {
        table.set(`s${i}`, 'log', FOREVER, size, 0);
        sizes.set(`s${i}`, size);
      }
      expect(unitsOf(table, sizes)).toBeLessThanOrEqual(100);
    }
  });

  test('of one subject may pass it: a charge that was admitted is never dropped at once', () => {
    const table = new MemoryTable(1);
    for (let size = 1; size <= 50; size++) table.set('s', size, FOREVER, size, 0);
    expect(table.get('s', 0)).toBe(50);
    table.set('t', 1, FOREVER, 1, 0);
    expect([table.subjects, table.get('t', 0)]).toEqual([1, 1]);
  });

  test('are given back by shrinking, ending and forgetting', () => {
    const step = fc.record({
      subject: fc.constantFrom('a', 'b', 'c'),
      size: fc.integer({ min: 1, max: 9 }),
      forget: fc.boolean(),
      waitMs: fc.nat(60),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const table = new MemoryTable(3);
        let now = 0;
        for (const { subject, size, forget, waitMs } of steps) {
          now += waitMs;
          if (forget) table.delete(subject);
          else table.set(subject, size, now + 50, size, now);
        }
        // Three subjects of at most 9 units fit in 30: with a count that leaks, one would be missing.
        now += 100;
        for (const subject of ['a', 'b', 'c']) table.set(subject, 'kept', now + 50, 10, now);
        expect(['a', 'b', 'c'].map((subject) => table.get(subject, now))).toEqual(['kept', 'kept', 'kept']);
      }),
      { numRuns: 500 },
    );
  });
});

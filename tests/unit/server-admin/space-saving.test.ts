import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Hotspots } from '../../../packages/server/src/admin/hotspots.js';
import { type Counted, merged, SpaceSaving } from '../../../packages/server/src/admin/space-saving.js';

function counts(items: readonly string[]): ReadonlyMap<string, number> {
  const exact = new Map<string, number>();
  for (const item of items) exact.set(item, (exact.get(item) ?? 0) + 1);
  return exact;
}

/** What is promised: no count too low, none too high by more than its error, nothing frequent missing. */
function expectPromises(counted: readonly Counted[], exact: ReadonlyMap<string, number>, errorMax: number): void {
  for (const { item, count, error } of counted) {
    const real = exact.get(item) ?? 0;
    expect(count).toBeGreaterThanOrEqual(real);
    expect(count - error).toBeLessThanOrEqual(real);
    expect(error).toBeLessThanOrEqual(errorMax);
  }
  const present = new Set(counted.map(({ item }) => item));
  for (const [item, count] of exact) if (count > errorMax) expect(present).toContain(item);
}

/** Few items are frequent and many are rare, as clients are. */
const streams = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 200 })).map((n) => `s${n}`),
  { maxLength: 600 },
);

test('no count is too low, or too high by more than its error and one part in the capacity of all', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), streams, (capacity, items) => {
      const sketch = new SpaceSaving(capacity);
      for (const item of items) sketch.add(item);
      expect(sketch.total).toBe(items.length);
      expect(sketch.counted().length).toBeLessThanOrEqual(capacity);
      expect(new Set(sketch.counted().map(({ item }) => item)).size).toBe(sketch.counted().length);
      expectPromises(sketch.counted(), counts(items), items.length / capacity);
    }),
  );
});

test('counts of two spans together keep the same promise', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), streams, streams, (capacity, before, after) => {
      const sketches = [before, after].map((items) => {
        const sketch = new SpaceSaving(capacity);
        for (const item of items) sketch.add(item);
        return sketch;
      });
      const all = [...before, ...after];
      const ranked = merged(sketches);
      expectPromises(ranked, counts(all), all.length / capacity);
      expect(ranked.map(({ count }) => count)).toEqual(ranked.map(({ count }) => count).sort((a, b) => b - a));
    }),
  );
});

test('with room for all every count is exact', () => {
  fc.assert(
    fc.property(streams, (items) => {
      const sketch = new SpaceSaving(1000);
      for (const item of items) sketch.add(item);
      const found = sketch.counted().map(({ item, count, error }) => [item, [count, error]] as const);
      expect(new Map(found)).toEqual(new Map([...counts(items)].map(([item, count]) => [item, [count, 0]])));
    }),
  );
});

const decisionOf = (subject: string, allowed = true) =>
  ({ policy: 'p', decision: { policy: 'p', subject, allowed }, shadow: false }) as Parameters<Hotspots['add']>[0];

test('a million subjects take the place of 256, and the hot one among them is still found', () => {
  const hotspots = new Hotspots(() => 0);
  for (let i = 0; i < 1_000_000; i++) {
    hotspots.add(decisionOf(`once-${i}`));
    if (i % 50 === 0) hotspots.add(decisionOf('hot', i % 100 === 0));
  }
  const { subjects, total } = hotspots.ranking('requests', 1000, 'p');
  expect(subjects.length).toBe(256);
  expect(total).toBe(1_020_000);
  const [hot] = subjects;
  expect(hot?.item).toBe('hot');
  expect(hot?.count).toBeGreaterThanOrEqual(20_000);
  expect((hot?.count ?? 0) - (hot?.error ?? 0)).toBeLessThanOrEqual(20_000);
  for (const { error } of subjects) expect(error).toBeLessThanOrEqual(1_020_000 / 256);
  expect(hotspots.ranking('refusals', 1000)).toMatchObject({ total: 10_000, subjects: [{ item: 'hot', error: 0 }] });
});

test('what was hot leaves within two minutes, and counts reach over the change', () => {
  let nowMs = 0;
  const hotspots = new Hotspots(() => nowMs);
  const ranked = () => hotspots.ranking('requests', 10).subjects.map(({ item, count }) => [item, count]);
  hotspots.add(decisionOf('early'));
  nowMs = 59_999;
  hotspots.add(decisionOf('late'));
  nowMs = 60_000;
  hotspots.add(decisionOf('late'));
  expect(ranked()).toEqual([
    ['late', 2],
    ['early', 1],
  ]);
  expect(hotspots.ranking('requests', 10)).toMatchObject({ sinceMs: 0, nowMs: 60_000 });
  nowMs = 120_000;
  expect(ranked()).toEqual([['late', 1]]);
  nowMs = 180_000;
  expect(ranked()).toEqual([]);
  hotspots.add(decisionOf('again'));
  nowMs = 100;
  expect(ranked()).toEqual([]);
});

test('refusals that are only reported are no refusals, and a long subject is kept as its hash', () => {
  const hotspots = new Hotspots(() => 0);
  const long = 'x'.repeat(100_000);
  hotspots.add({ ...decisionOf(long, false), shadow: true });
  expect(hotspots.ranking('refusals', 10).total).toBe(0);
  expect(hotspots.ranking('requests', 10).subjects[0]?.item).toMatch(/^sha256:[0-9a-f]{64}$/);
});

test('a thousand policies are counted and no more', () => {
  const hotspots = new Hotspots(() => 0);
  for (let i = 0; i < 1500; i++) hotspots.add({ ...decisionOf('s'), policy: `p${i}` });
  expect(hotspots.ranking('requests', 1).policies.length).toBe(1000);
});

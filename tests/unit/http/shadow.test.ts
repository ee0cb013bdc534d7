import { fixedWindow, memoryStore } from 'comporta';
import { createGate, type Policy, type Verdict } from 'comporta/http';
import { expect, test } from 'vitest';
import { view } from '../identity/view.js';
import { field } from './parse.js';
import { lateStore, ManualClock } from './stores.js';

const none = fixedWindow({ limit: 0, window: '1d' });
const SUBJECTS = 5000;

/** Numbers of the subjects that a policy enforces its limit of 0 on. */
function refusedBy(policy: Partial<Policy>): Set<number> {
  const gate = createGate({ policies: [{ name: 'p', key: 'header:x', limits: none, ...policy }] });
  const refused = new Set<number>();
  for (let i = 0; i < SUBJECTS; i++) {
    const verdict = gate.check(view({ headers: { x: `${i}` } })) as Verdict;
    if (!verdict.allowed) refused.add(i);
  }
  return refused;
}

test.each([0, 1, 25, 50, 99.5, 100])('with %s per cent in the shadow, so many subjects pass', (percent) => {
  const share = refusedBy({ shadow: { percent } }).size / SUBJECTS;
  const expected = 1 - percent / 100;
  // Five standard deviations of a fair draw; none at the ends.
  expect(Math.abs(share - expected)).toBeLessThanOrEqual(5 * Math.sqrt((expected * (1 - expected)) / SUBJECTS));
});

test('a subject stays in or out, in every process, and with more per cent only more come in', () => {
  const half = refusedBy({ shadow: { percent: 50 } });
  expect(refusedBy({ shadow: { percent: 50 } })).toEqual(half);
  for (const i of refusedBy({ shadow: { percent: 80 } })) expect(half.has(i)).toBe(true);
  const other = refusedBy({ name: 'q', shadow: { percent: 50 } });
  const both = [...half].filter((i) => other.has(i)).length;
  expect(both / SUBJECTS, 'policies choose independently').toBeCloseTo(0.25, 1);
});

test('a verdict says which decisions were shadowed, and they are what they were', () => {
  const store = memoryStore({ clock: new ManualClock() });
  const gate = createGate({
    store,
    policies: [
      { name: 'watched', limits: none, shadow: true },
      { name: 'kept', limits: fixedWindow({ limit: 5, window: '1d' }) },
    ],
  });
  const verdict = gate.check(view()) as Verdict;
  expect(verdict.allowed).toBe(true);
  expect(verdict.decisions.map(({ policy, allowed }) => [policy, allowed])).toEqual([
    ['watched', false],
    ['kept', true],
  ]);
  expect(verdict.shadowed).toEqual([verdict.decisions[0]]);
  expect(field(verdict, 'ratelimit-policy')).not.toContain('watched');
});

test('what a refusing policy refuses costs the shadowed ones nothing, late stores included', async () => {
  for (const store of [memoryStore({ clock: new ManualClock() }), lateStore(new ManualClock())]) {
    const gate = createGate({
      store,
      policies: [
        { name: 'watched', limits: fixedWindow({ limit: 5, window: '1d' }), shadow: true },
        { name: 'kept', limits: none },
      ],
    });
    expect((await gate.check(view())).allowed).toBe(false);
    expect(await gate.limiters.get('watched')?.peek('ip=203.0.113.9')).toMatchObject({ limits: [{ remaining: 5 }] });
  }
});

test.each([
  ['a word', 'yes', 'shadow'],
  ['a number', 50, 'shadow'],
  ['null', null, 'shadow'],
  ['no per cent', {}, 'shadow'],
  ['more than it takes', { percent: 5, of: 1 }, 'shadow'],
  ['less than none', { percent: -1 }, 'shadow.percent'],
  ['more than all', { percent: 101 }, 'shadow.percent'],
  ['no number', { percent: Number.NaN }, 'shadow.percent'],
  ['a text', { percent: '5' }, 'shadow.percent'],
])('a shadow of %s is refused', (_, shadow, path) => {
  expect(() => createGate({ policies: [{ name: 'p', limits: none, shadow: shadow as never }] })).toThrow(
    expect.objectContaining({ code: 'ERR_POLICY', field: `policies[0].${path}` }),
  );
});

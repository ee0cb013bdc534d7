import fc from 'fast-check';
import { parseList } from 'structured-headers';
import { expect, test } from 'vitest';
import { applyFields, mergeList } from '../../../packages/comporta/src/http/apply.js';
import { items } from './parse.js';

function applied(
  existing: Record<string, unknown>,
  headers: Record<string, string>,
  allowed = true,
): Record<string, unknown> {
  const response = { ...existing };
  const set = (name: string, value: string) => {
    response[name] = value;
  };
  applyFields({ allowed, headers: Object.entries(headers) }, { get: (name) => response[name], set });
  return response;
}

test('lists are joined, and a policy of the same name is replaced', () => {
  expect(mergeList('"a";r=1;t=2, "b";r=3', '"b";r=0;t=9')).toBe('"a";r=1;t=2, "b";r=0;t=9');
  expect(mergeList('', '"a";r=1')).toBe('"a";r=1');
  expect(applied({ ratelimit: ['"a";r=1', '"b";r=2'] }, { ratelimit: '"c";r=3' }).ratelimit).toBe(
    '"a";r=1, "b";r=2, "c";r=3',
  );
});

test('commas and semicolons inside names do not separate', () => {
  expect(mergeList('"a, \\"b\\";r=9";r=1, tok;r=2', '"c";r=3')).toBe('"a, \\"b\\";r=9";r=1, tok;r=2, "c";r=3');
  expect(mergeList('tok;r=2', '"tok";r=3')).toBe('"tok";r=3');
});

test('what would void the whole list is left out', () => {
  for (const existing of ['limit=10, remaining=5', '"open', '100;w=60', ',,', '"a"b', 'ü;r=1']) {
    expect(items(mergeList(existing, '"c";r=3'))).toEqual({ c: { r: 3 } });
  }
});

test('any field that somebody else wrote leaves ours readable', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[ab",;=\\ 1]{0,40}$/));
  fc.assert(
    fc.property(text, (existing) => {
      const members = parseOrNothing(existing);
      const merged = mergeList(existing, '"ours";r=3;t=1');
      expect(merged.endsWith('"ours";r=3;t=1')).toBe(true);
      if (members > 0) expect(parseList(merged).length).toBeGreaterThan(0);
    }),
    { numRuns: 1000 },
  );
});

/** Number of named items in a list; 0 when it is malformed. */
function parseOrNothing(list: string): number {
  try {
    return parseList(list).length;
  } catch {
    return 0;
  }
}

test('an outer limiter with more left does not hide the stricter inner one, nor the other way round', () => {
  const fields = (remaining: number) => ({ 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': `${remaining}` });
  expect(applied(fields(0), fields(99))).toEqual(fields(0));
  expect(applied(fields(99), fields(0))).toEqual(fields(0));
  expect(
    applied({ ratelimit: 'limit=9, remaining=2, reset=1' }, { ratelimit: 'limit=9, remaining=3, reset=1' }),
  ).toEqual({
    ratelimit: 'limit=9, remaining=2, reset=1',
  });
  expect(applied(fields(0), { ...fields(3), 'retry-after': '4' }, false)).toEqual({ ...fields(3), 'retry-after': '4' });
  expect(applied({ 'x-ratelimit-remaining': 5 }, fields(7))).toEqual({ 'x-ratelimit-remaining': 5 });
});

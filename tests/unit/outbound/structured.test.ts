import fc from 'fast-check';
import { isInnerList, parseList as oracle, serializeList, Token } from 'structured-headers';
import { expect, test } from 'vitest';
import { parseList } from '../../../packages/comporta/src/outbound/structured.js';

const text = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) });
const token = fc.stringMatching(/^[A-Za-z*][A-Za-z0-9:/!#$%&'*+.^_`|~-]{0,8}$/).map((name) => new Token(name));
const integer = fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 });
const bare = fc.oneof(text, token, integer, fc.boolean());
const key = fc.stringMatching(/^[a-z*][a-z0-9_.*-]{0,5}$/);
const item = fc.tuple(
  bare,
  fc.array(fc.tuple(key, bare), { maxLength: 4 }).map((entries) => new Map(entries)),
);
const list = fc.array(item, { minLength: 1, maxLength: 4 });

const plain = (value: unknown): unknown => (value instanceof Token ? value.toString() : value);

/** What an independent parser reads; `undefined` when it finds a fault or something that this one leaves out. */
function expected(field: string): unknown {
  try {
    const members = oracle(field);
    if (members.length === 0 || members.some((member) => isInnerList(member))) return undefined;
    return members.map(([value, parameters]) => [
      plain(value),
      [...parameters].map(([name, given]) => [name, plain(given)]),
    ]);
  } catch {
    return undefined;
  }
}

const actual = (field: string): unknown =>
  parseList(field)?.map(({ value, parameters }) => [value, [...parameters].map(([name, given]) => [name, given])]);

test('every list that an independent writer makes is read as an independent parser reads it', () => {
  fc.assert(
    fc.property(list, (members) => {
      const field = serializeList(members);
      expect(expected(field)).toBeDefined();
      expect(actual(field)).toEqual(expected(field));
    }),
    { numRuns: 2000 },
  );
});

test('a field with one character changed, left out or put in is read or refused as the independent parser does', () => {
  const edit = fc.record({
    at: fc.nat(200),
    gone: fc.constantFrom(0, 0, 1),
    put: fc.constantFrom('', ',', ';', '=', '"', '\\', ' ', '\t', '.', '-', '1', 'a', 'A', '?', 'é', '*'),
  });
  let [refused, read] = [0, 0];
  fc.assert(
    fc.property(list, fc.array(edit, { minLength: 1, maxLength: 2 }), (members, edits) => {
      let field = serializeList(members);
      for (const { at, gone, put } of edits) {
        const place = at % (field.length + 1);
        field = field.slice(0, place) + put + field.slice(place + gone);
      }
      // Bytes, dates and display strings are compared by hand below.
      fc.pre(!/[:@%]/.test(field));
      const want = expected(field);
      if (want === undefined) refused++;
      else read++;
      expect({ field, is: actual(field) }).toEqual({ field, is: want });
    }),
    { numRuns: 5000 },
  );
  expect(Math.min(refused, read)).toBeGreaterThan(500);
});

test.each([
  '',
  ' ',
  ',',
  'a,',
  '"a',
  'a b',
  'limit=100',
  '1.',
  '1.2345',
  '1234567890123456',
  '(a b)',
  'a;B=1',
  '"\n"',
  ':a:',
  ':ab:c',
  ':a-b_:',
  '@1',
  '%"a"',
])('%j is void', (field) => {
  expect(parseList(field)).toBeUndefined();
});

test.each(['::', ':YQ==:', ':YWI=:', ':YWJj:', ':YWI:'])('the bytes %s stand where a value may', (bytes) => {
  expect(oracle(`"a";pk=${bytes};r=1`)).toBeDefined();
  expect(parseList(`"a";pk=${bytes};r=1`)?.[0]?.parameters.get('r')).toBe(1);
});

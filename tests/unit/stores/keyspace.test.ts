import { slidingWindow, tokenBucket } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { slotOf } from '../../../packages/comporta/src/redis/slot.js';
import {
  checkSubject,
  escapeSubject,
  KEY_PREFIX,
  keysOf,
  partOf,
  refundKey,
  shortSubject,
} from '../../../packages/comporta/src/stores/keyspace.js';
import { refusalOf } from '../../support/refusal.js';
import { text, twoTexts } from './texts.js';

const RUNS = { numRuns: 3000 };

const LONGEST = 'x'.repeat(64);
const limit = slidingWindow({ limit: 1, window: '1s', id: LONGEST });
const plan = { policy: LONGEST, limits: withIds([limit, tokenBucket({ capacity: 1, refill: 1, every: '1s' })]) };

describe('the text of one part of a subject inside a key', () => {
  const parts = fc.integer({ min: 2, max: 64 });
  const part = parts.chain((processes) =>
    fc.integer({ min: 0, max: processes - 1 }).map((rank) => ({ processes, rank })),
  );

  test('is that of no other subject, of no other part, and of no part of another', () => {
    fc.assert(
      fc.property(twoTexts, part, part, ([a, b], one, other) => {
        fc.pre(a !== '' && b !== '');
        const text = partOf(escapeSubject(a), one);
        expect(text).toMatch(/^%p\d+\.\d+\.[A-Za-z0-9._~@/+=,%-]{1,128}$/);
        expect([escapeSubject(a), escapeSubject(b), escapeSubject(text)]).not.toContain(text);
        expect(partOf(escapeSubject(b), other)).not.toBe(text);
        if (one.rank !== other.rank) expect(partOf(escapeSubject(a), other)).not.toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  test.each(['global', 'x'.repeat(200), 'é'])('spreads over equal ranges of slots (%#)', (subject) => {
    for (const processes of [2, 3, 8, 13, 64]) {
      const tags = Array.from({ length: processes }, (_, rank) => partOf(escapeSubject(subject), { processes, rank }));
      const ranges = tags.map((tag) => Math.floor((slotOf(tag) * processes) / 16_384));
      expect(new Set(ranges).size).toBe(processes);
    }
  });

  test('does not put the first part of every subject into the same range', () => {
    const first = (i: number): number => slotOf(partOf(`s${i}`, { processes: 3, rank: 0 }));
    const ranges = Array.from({ length: 30 }, (_, i) => Math.floor((first(i) * 3) / 16_384));
    expect(new Set(ranges).size).toBe(3);
  });
});

describe('the text of a subject inside a key', () => {
  test.each([[undefined], ['secret']])('differs for different subjects (secret: %s)', (secret) => {
    fc.assert(
      fc.property(twoTexts, ([a, b]) => {
        expect(escapeSubject(a, secret)).not.toBe(escapeSubject(b, secret));
      }),
      { numRuns: secret === undefined ? 5000 : 1000 },
    );
  });

  test.each([[undefined], ['secret']])('is short and of harmless characters only (secret: %s)', (secret) => {
    fc.assert(
      fc.property(text, (subject) => {
        fc.pre(subject !== '');
        expect(escapeSubject(subject, secret)).toMatch(/^[A-Za-z0-9._~@/+=,%-]{1,128}$/);
      }),
      RUNS,
    );
  });

  test('is the subject itself when that is short and harmless', () => {
    for (const subject of ['203.0.113.7', 'user@example.com', 'a/b+c=d,e~f_g-h', '0', 'x'.repeat(128)]) {
      expect(escapeSubject(subject)).toBe(subject);
    }
  });

  test.each([
    ['2001:db8::/64', '2001%3Adb8%3A%3A/64'],
    ['{a}', '%7Ba%7D'],
    ['50%', '50%25'],
    ['a b\n', 'a%20b%0A'],
    ['\u0000', '%00'],
    ['é', '%u00E9'],
    ['\uD800', '%uD800'],
    ['😀', '%U01F600'],
    ['%h', '%25h'],
  ])('%j is written %s', (subject, escaped) => {
    expect(escapeSubject(subject)).toBe(escaped);
  });

  test.each([
    ['one character too long', 'x'.repeat(129)],
    ['too long once it is escaped', ':'.repeat(43)],
    ['far too long', 'é'.repeat(100_000)],
    ['long and all lone surrogates', '\uD800'.repeat(5000)],
  ])('is a digest when it is %s', (_, subject) => {
    expect(escapeSubject(subject)).toMatch(/^%h[0-9a-f]{64}$/);
    expect(escapeSubject(`${subject}x`)).not.toBe(escapeSubject(subject));
  });

  test('of two long texts differs though both read the same as UTF-8', () => {
    const [a, b] = ['\uD800'.repeat(200), '\uDBFF'.repeat(200)];
    expect(new TextEncoder().encode(a)).toEqual(new TextEncoder().encode(b));
    expect(escapeSubject(a)).not.toBe(escapeSubject(b));
  });

  test('with a secret says nothing of the subject, and another secret gives another text', () => {
    const [one, two] = [escapeSubject('203.0.113.7', 'a'), escapeSubject('203.0.113.7', 'b')];
    expect(one).toMatch(/^%k[0-9a-f]{64}$/);
    expect(one).not.toBe(two);
    expect(escapeSubject('203.0.113.7', 'a')).toBe(one);
    // What a subject could look like without one.
    expect(escapeSubject(one)).not.toBe(one);
  });
});

describe('the name of a subject in memory', () => {
  test('differs for different subjects and is short', () => {
    fc.assert(
      fc.property(twoTexts, ([a, b]) => {
        expect(shortSubject(a)).not.toBe(shortSubject(b));
        expect(shortSubject(a).length).toBeLessThanOrEqual(129);
      }),
      RUNS,
    );
  });

  test('is the subject as it is, however odd, up to 128 characters', () => {
    for (const subject of ['a:b', '\uD800', 'x'.repeat(128)]) expect(shortSubject(subject)).toBe(subject);
  });

  test('of a long subject is one that nobody can ask for', () => {
    const name = shortSubject('x'.repeat(129));
    expect(shortSubject(name)).not.toBe(name);
  });
});

describe('keys', () => {
  const keys = (subject: string) => [
    ...keysOf(plan, KEY_PREFIX)(escapeSubject(subject)),
    refundKey(plan, KEY_PREFIX, escapeSubject(subject), 'decision'),
  ];

  test('of one subject share one slot, tagged by the whole subject, and stay short', () => {
    fc.assert(
      fc.property(text, (subject) => {
        fc.pre(subject !== '');
        const escaped = escapeSubject(subject);
        for (const key of keys(subject)) {
          expect(key.slice(0, key.indexOf('}') + 1)).toBe(`cmp1:{${escaped}}`);
          expect(key.match(/[{}]/g)).toHaveLength(2);
          expect(slotOf(escaped)).toBe(slotOf(key.slice(key.indexOf('{') + 1, key.indexOf('}'))));
          expect(key.length - escaped.length).toBeLessThanOrEqual(`cmp1:{}:${LONGEST}:${LONGEST}:sw`.length);
        }
      }),
      RUNS,
    );
  });

  test('of different subjects never meet', () => {
    fc.assert(
      fc.property(twoTexts, ([a, b]) => {
        fc.pre(a !== '' && b !== '');
        expect(new Set([...keys(a), ...keys(b)]).size).toBe(6);
      }),
      RUNS,
    );
  });

  test('"a:b" under "c" is not "a" under "b:c", nor is any other split of one text', () => {
    const named = (policy: string) => ({ ...plan, policy });
    const all = [
      ['a:b', 'c'],
      ['a', 'b.c'],
      ['a}:b', 'c'],
      ['a', 'c'],
    ].flatMap(([subject, policy]) => keysOf(named(policy as string), KEY_PREFIX)(escapeSubject(subject as string)));
    expect(new Set(all).size).toBe(all.length);
    // A policy's name has no colon: checked when a limiter is made.
    expect(all.every((key) => key.split(':').length === 5)).toBe(true);
  });

  test('name the policy, the limit and its kind', () => {
    const small = { policy: 'api', limits: withIds([slidingWindow({ limit: 1, window: '1s', id: 'burst' })]) };
    expect(keysOf(small, 'cmp1')('s')).toEqual(['cmp1:{s}:api:burst:sw']);
    expect(refundKey(small, 'cmp1', 's', 'd1')).toBe('cmp1:{s}:api:refund:d1');
  });
});

describe('a subject', () => {
  test.each([' ', '0', '\u0000', '\uD800', 'x'.repeat(1_000_000)])('is any text that is not empty: %#', (subject) => {
    expect(() => checkSubject(subject)).not.toThrow();
  });

  test.each([
    ['', 'an empty one'],
    [undefined, 'undefined'],
    [null, 'object'],
    [42, 'number'],
    [true, 'boolean'],
    [{}, 'object'],
    [['a'], 'object'],
    [Symbol('a'), 'symbol'],
  ])('is refused otherwise: %#', (subject, shown) => {
    const { code, field, text: words } = refusalOf(() => checkSubject(subject));
    expect({ code, field }).toEqual({ code: 'ERR_SUBJECT', field: 'subject' });
    expect(words).toContain(`got ${shown};`);
  });
});

import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestHex, sha1Hex, sha256 } from '../../../packages/comporta/src/core/hash.js';

const RUNS = { numRuns: 500 };
const utf8 = new TextEncoder();
const utf16 = (given: string): Uint8Array => Buffer.from(given, 'utf16le');

/** Any UTF-16 text: lone surrogates and characters beyond the basic plane are as likely as others. */
const text = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 80 }) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7ff, max: 0xe000 })), { maxLength: 70 })
      .map((units) => String.fromCharCode(...units)),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 9 }), fc.nat(3000))
      .map(([part, n]) => part.repeat(n)),
  },
);

const theirs = (name: string, bytes: Uint8Array) => createHash(name).update(bytes).digest('hex');

/** Lengths around the 64-byte blocks and the 9 bytes of padding, where such code goes wrong. */
const lengths = [0, 1, 54, 55, 56, 57, 63, 64, 65, 118, 119, 120, 127, 128, 129, 1000, 100_000];

describe('SHA-1', () => {
  test('equals the platform for any text', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(sha1Hex(given)).toBe(theirs('sha1', utf8.encode(given)));
      }),
      RUNS,
    );
  });

  test.each(lengths)('equals the platform for %i bytes', (length) => {
    expect(sha1Hex('a'.repeat(length))).toBe(theirs('sha1', Buffer.alloc(length, 'a')));
  });
});

describe('SHA-256', () => {
  test('equals the platform for any text', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(digestHex(given, undefined, null)).toBe(theirs('sha256', utf16(given)));
        expect(digestHex(given)).toBe(digestHex(given, undefined, null));
      }),
      RUNS,
    );
  });

  test('equals the platform for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(Buffer.from(sha256(bytes)).toString('hex')).toBe(theirs('sha256', bytes));
      }),
      RUNS,
    );
  });

  test.each(lengths)('equals the platform for %i bytes', (length) => {
    expect(Buffer.from(sha256(Buffer.alloc(length, 'a'))).toString('hex')).toBe(
      theirs('sha256', Buffer.alloc(length, 'a')),
    );
  });

  test('reads bytes that sit inside a larger buffer', () => {
    const bytes = new Uint8Array([9, 9, 1, 2, 3, 9]).subarray(2, 5);
    expect(Buffer.from(sha256(bytes)).toString('hex')).toBe(theirs('sha256', bytes));
  });
});

describe('HMAC-SHA-256', () => {
  const hmacOf = (given: string, secret: string) =>
    createHmac('sha256', utf8.encode(secret)).update(utf16(given)).digest('hex');

  test('equals the platform for any text and secret', () => {
    fc.assert(
      fc.property(text, text, (given, secret) => {
        expect(digestHex(given, secret, null)).toBe(hmacOf(given, secret));
        expect(digestHex(given, secret)).toBe(hmacOf(given, secret));
      }),
      RUNS,
    );
  });

  test.each([0, 1, 63, 64, 65, 200])('equals the platform for a secret of %i bytes', (length) => {
    expect(digestHex('subject', 'k'.repeat(length), null)).toBe(hmacOf('subject', 'k'.repeat(length)));
  });
});

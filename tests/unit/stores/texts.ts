import fc from 'fast-check';

/** Characters that escapes, digests and keys are made of: the likeliest to make two texts meet. */
const TRICKY = ['%', '%%', '%h', '%k', '%u', '%U', '%25', '%u00E9', '%uD800', '%U01F600', '{', '}', ':', 'a', 'F', '0'];
const OTHERS = [
  '\u0000',
  '\n',
  ' ',
  '"',
  '\\',
  'é',
  'e\u0301',
  '😀',
  '\uD800',
  '\uDFFF',
  '\uDE00\uD83D',
  '\uFFFD',
  '-',
];

const pieces = fc.array(fc.constantFrom(...TRICKY, ...OTHERS), { maxLength: 8 }).map((parts) => parts.join(''));
const units = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7fe, max: 0xe001 })), { maxLength: 8 })
  .map((codes) => String.fromCharCode(...codes));
const long = fc.tuple(pieces, fc.integer({ min: 1, max: 60 })).map(([part, n]) => part.repeat(n));

/** Any UTF-16 text, lone surrogates included; some long. */
export const text: fc.Arbitrary<string> = fc.oneof(pieces, units, long);

/** Two different texts that are as alike as they can be. */
export const twoTexts: fc.Arbitrary<readonly [string, string]> = fc
  .oneof(
    fc.tuple(text, text),
    fc.tuple(text, fc.constantFrom(...TRICKY, ...OTHERS)).map(([a, b]) => [a, a + b] as const),
    fc.tuple(text, text, fc.constantFrom(...TRICKY, ...OTHERS)).map(([a, b, c]) => [a + c + b, a + b] as const),
    text.map((a) => [a, a.normalize('NFD')] as const),
    text.map((a) => [a, a.replace(/\p{Surrogate}/gu, '\uFFFD')] as const),
  )
  .filter(([a, b]) => a !== b);

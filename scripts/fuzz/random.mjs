/** The same numbers for the same seed. */
export function randomOf(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export const pick = (random, list) => list[random(list.length)];

export const bytesOf = (random, most) => Buffer.from(Array.from({ length: random(most) }, () => random(256)));

/** Names that mean something to JavaScript, and texts that readers disagree on. */
export const ODD_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  '\u0000',
  '\ud800',
  '{}',
  '%presence',
  'a:b',
  '\u{1f600}',
  'x'.repeat(5000),
];

/** Bytes that are no UTF-8: cut short, too long, of half a pair, beyond the last character. */
export const BAD_UTF8 = ['c3', '80', 'c080', 'eda080', 'f4908080', 'fffe', 'e282'].map((hex) =>
  Buffer.from(hex, 'hex'),
);

/** Some bytes changed, cut out, put in or left off at the end. */
export function mutated(random, original) {
  let bytes = Buffer.from(original);
  for (let changes = random(6); changes > 0 && bytes.length > 0; changes--) {
    const [at, to] = [random(bytes.length), random(bytes.length)];
    const kind = random(5);
    if (kind === 0) bytes[at] = random(256);
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, at), bytesOf(random, 20), bytes.subarray(at)]);
    else if (kind === 3) bytes = Buffer.concat([bytes.subarray(0, at), pick(random, BAD_UTF8), bytes.subarray(at)]);
    else bytes = bytes.subarray(0, at);
  }
  return bytes;
}

// Texts that are JSON, nearly JSON, or JSON that no two readers take alike.
import { BAD_UTF8, bytesOf, mutated, ODD_NAMES, pick } from './random.mjs';

/** Written as they are: JavaScript has no value for most of them. */
const ODD_TEXTS = [
  '9007199254740993',
  '18446744073709551616',
  '-9007199254740993',
  '1e400',
  '-1e400',
  '5e-324',
  '-0',
  '0.1',
  '1.0',
  '1E2',
  `1${'0'.repeat(400)}`,
  `0.${'1'.repeat(5000)}`,
  '"\\ud800"',
  '"\\u0000"',
  '"__proto__"',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  'null',
  'true',
  '""',
  '[]',
  '{}',
  'NaN',
  '01',
  "'a'",
];

const deep = (random) => {
  const depth = pick(random, [10, 1000, 20_000, 32_000]);
  const [open, close] = pick(random, [
    ['[', ']'],
    ['{"a":', '}'],
  ]);
  return `${open.repeat(depth)}1${random(4) === 0 ? '' : close.repeat(depth)}`;
};

function oddValue(random) {
  const kind = random(8);
  if (kind === 0) return deep(random);
  if (kind === 1) return JSON.stringify('x'.repeat(pick(random, [64, 65, 257, 10_000, 70_000])));
  if (kind === 2) return JSON.stringify(Array.from({ length: pick(random, [9, 101, 5000]) }, () => 'a'));
  if (kind === 3) return JSON.stringify(bytesOf(random, 30).toString('latin1'));
  return pick(random, ODD_TEXTS);
}

/** A value as JSON, in which every part may be replaced, left out, doubled or joined by others. */
function written(random, value, odds) {
  if (random(odds) === 0) return oddValue(random);
  if (Array.isArray(value)) {
    const parts = value.map((each) => written(random, each, odds));
    if (random(odds) === 0) parts.push(...parts);
    return `[${parts.join(',')}]`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = [];
  for (const [name, each] of Object.entries(value)) {
    if (random(odds) === 0) continue;
    const field = `${JSON.stringify(name)}:${written(random, each, odds)}`;
    fields.push(field);
    // The last of two counts, for most readers.
    if (random(odds) === 0)
      fields.push(`${JSON.stringify(name)}:${random(2) === 0 ? oddValue(random) : written(random, each, odds)}`);
  }
  if (random(odds) === 0) fields.push(`${JSON.stringify(pick(random, ODD_NAMES))}:${oddValue(random)}`);
  return `{${fields.join(random(odds) === 0 ? ',,' : ',')}}`;
}

/** A body made from one that is right. */
export function bodyFrom(random, example) {
  const kind = random(12);
  if (kind === 0) return bytesOf(random, 300);
  if (kind === 1) return mutated(random, JSON.stringify(example));
  if (kind === 2) return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(example))]);
  if (kind === 3) return Buffer.concat([Buffer.from('{"policy":"'), pick(random, BAD_UTF8), Buffer.from('"}')]);
  if (kind === 4) return Buffer.from(deep(random));
  return Buffer.from(written(random, example, pick(random, [3, 8, 20])));
}

import { expect, test } from 'vitest';
import { readSource } from '../../../packages/server/src/config/source.js';
import { loadDomains } from '../../../packages/server/src/envoy/load.js';

const rules = (count: number): string =>
  Array.from({ length: count }, (_, i) => `- {key: k${i}, rate_limit: {unit: day, requests_per_unit: ${i}}}\n`).join(
    '',
  );

/** Milliseconds of this process that a reading takes. */
function costOf(run: () => void): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const named = Array.from({ length: 90 }, (_, i) => `- {key: a${i}, descriptors: *list}\n`).join('');
const rows: readonly (readonly [string, string, number, RegExp])[] = [
  [
    'a list that aliases repeat',
    `domain: d\nlist: &list\n${rules(3000)}descriptors:\n${named}`,
    3017,
    /more than 200000/,
  ],
  ['brackets in brackets', `a:\n  ${'['.repeat(400_000)}`, 2, /nested deeper/],
  ['braces in braces', '{a: '.repeat(100_000), 1, /nested deeper/],
  ['lists in lists on one line', `a:\n  ${'- '.repeat(100_000)}`, 2, /nested deeper/],
  ['keys in keys on one line', '? '.repeat(100_000), 1, /nested deeper/],
  ['more levels than anybody needs', `${'['.repeat(102)}${']'.repeat(102)}`, 1, /nested deeper/],
  [
    'levels that aliases add',
    `a: &a ${'['.repeat(60)}${']'.repeat(60)}\nb: ${'['.repeat(60)}*a${']'.repeat(60)}`,
    2,
    /deeper/,
  ],
  ['more values than a person writes', `a: [${'1,'.repeat(450_000)}]`, 1, /more than 200000/],
  ['more aliases than a person writes', `a: &a 1\nb: [${'*a ,'.repeat(30_000)}]`, 2, /anchors and aliases/],
  ['an alias inside of its anchor', 'a: &a\n  b: [*a]\n', 2, /inside of what it stands for/],
];

test.each(rows)('%s: refused at once, with the line', (_, text, line, message) => {
  const cost = costOf(() => {
    for (const environment of [undefined, {}]) {
      const { problems } = readSource(text, environment);
      expect(problems).toEqual([expect.objectContaining({ line, message: expect.stringMatching(message) })]);
      expect(problems[0]?.hint).toMatch(/\S/);
    }
  });
  expect(cost).toBeLessThan(3000);
});

test('a large file that somebody means is read, and so are aliases of a reasonable number', () => {
  const text = `domain: d\ndescriptors:\n${rules(10_000)}`;
  const loaded = loadDomains([{ file: 'd.yaml', text }], { mode: 'compatible' });
  expect(
    'domains' in loaded && loaded.domains.get('d')?.root.find({ key: 'k9999', value: '' })?.rule?.rate,
  ).toMatchObject({ requestsPerUnit: 9999 });
  const list = Array.from({ length: 5000 }, (_, i) => `- {key: k${i}, rate_limit: *r}\n`).join('');
  const repeated = `domain: d\ndescriptors:\n- {key: k, rate_limit: &r {unit: day, requests_per_unit: 1}}\n${list}`;
  expect(loadDomains([{ file: 'd.yaml', text: repeated }], { mode: 'compatible' })).toHaveProperty('domains');
});

test('what is wrong behind an alias is told with the line of what it stands for', () => {
  const { locate } = readSource('a: &a\n  b: 1\nc: *a\n', undefined);
  expect(locate(['c', 'b'], 'value')).toEqual({ line: 2, column: 6 });
});

import { expect, test } from 'vitest';
import { describePolicies } from '../../../packages/server/src/cli/describe.js';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { formatProblem } from '../../../packages/server/src/config/problem.js';

const load = (split: string, more = '', store = 'redis-cluster://127.0.0.1:7001'): ReturnType<typeof loadConfig> =>
  loadConfig(
    `store: ${store}\n` +
      'policies:\n  - name: p\n    limits: [{ slidingWindow: { limit: 1000, window: 1h } }]\n' +
      `    split: ${split}\n${more}` +
      'gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }\n',
    {},
  );

test.each([
  [
    '{ parts: 8 }',
    'every subject split in 8 parts: refused too early slidingWindow up to 3.6 %, and all costs above 125',
  ],
  [
    '{ parts: 2, subjects: [ip=10.0.0.1] }',
    'ip=10.0.0.1 split in 2 parts: refused too early slidingWindow up to 1.8 %',
  ],
])('a policy with split: %s has it, and says what it takes', (split, words) => {
  const loaded = load(split);
  if (!('config' in loaded)) throw new Error('the file was refused');
  expect(loaded.config.gate.policies[0]?.split?.parts).toBe(Number(/\d+/.exec(split)?.[0]));
  expect(describePolicies(loaded.config)[0]).toContain(words);
});

test.each([
  ['8', ''],
  ['{ parts: 1 }', ''],
  ['{ parts: 65 }', ''],
  ['{ parts: 63 }', ''],
  ['{ parts: 8, subjects: [] }', ''],
  ['{ parts: 8, part: 8 }', ''],
  ['{ parts: 8, subjects: [10.0.0.1] }', ''],
  ['{ parts: 8, subjects: [ip=10.0.0.1] }', '    key: global\n'],
  ['{ parts: 8 }', '    blocks: true\n'],
])('split: %s in a file is refused with its place', (split, more) => {
  const loaded = load(split, more);
  const problems = 'problems' in loaded ? loaded.problems.map((problem) => formatProblem('f', problem)) : [];
  expect(problems).toEqual([expect.stringMatching(/^f:\d+:\d+: .*split/)]);
});

test.each([
  ['redis://127.0.0.1:6379', 'split in 8 parts (only costs, spreads nothing: the store is no cluster): refused'],
  ['memory', 'split: no effect with store: memory'],
])('split over %s says: %s', (store, words) => {
  const loaded = load('{ parts: 8 }', '', store);
  if (!('config' in loaded)) throw new Error('the file was refused');
  expect(describePolicies(loaded.config)[0]).toContain(words);
});

test.each([
  ['ip', '10.0.0.1', 'no subject of this key has the name "10.0.0.1"', 'named ip=VALUE: write "ip=10.0.0.1"'],
  ['header:X-Key', 'k1', 'no subject of this key has the name "k1"', 'header.x-key=VALUE: write "header.x-key=k1"'],
  ['global', 'everybody', 'no subject of this key has the name "everybody"', 'are named global: write "global"'],
  ['global', 'global=everybody', 'has the name "global=everybody"', 'its subjects are named global: write "global"'],
  ['ip', 'ip=2001:db8::1', 'no subject of this key has the name "ip=2001:db8::1"', 'write "ip=2001:db8::/64"'],
  ['ip', 'ip=2001:DB8:0::2', 'has the name "ip=2001:DB8:0::2"', 'write "ip=2001:db8::/64"'],
  ['ip', '"2001:db8::1"', 'has the name "2001:db8::1"', 'write "ip=2001:db8::/64"'],
  ['ip', 'ip=2001:db8::1/64', 'has the name', 'write "ip=2001:db8::/64"'],
  ['ip', 'ip=2001:db8::/48', 'has the name', 'write "ip=2001:db8::/64"'],
  ['ip', 'ip=::ffff:10.0.0.1', 'has the name', 'write "ip=10.0.0.1"'],
  ['ip', 'ip=10.0.0.1:80', 'has the name', 'write "ip=10.0.0.1"'],
  ['ip', 'ip=10.0.0.0/24', 'has the name', 'named ip=VALUE'],
  ['ip', 'ip=bogus', 'has the name "ip=bogus"', 'named ip=VALUE'],
  ['ip', 'bogus', 'has the name "bogus"', 'named ip=VALUE'],
  ['header:X-Key', 'header.x-key=', 'has the name', 'named header.x-key=VALUE'],
  ['[ip, header:X-Key]', '"ip=2001:db8::1,header.x-key"', 'has the name', 'write "ip=2001:db8::/64,header.x-key"'],
  ['[ip, header:X-Key]', '"ip,header.x-key"', 'has the name', 'named ip=VALUE,header.x-key=VALUE'],
  ['[ip, header:X-Key]', '"ip,header.x-key=50%"', 'has the name', 'named ip=VALUE,header.x-key=VALUE'],
  ['[ip, header:X-Key]', 'k1', 'no subject of this key', 'named ip=VALUE,header.x-key=VALUE'],
])('with key: %s a split subject %s is refused with the name it has', (key, subject, message, hint) => {
  const loaded = load(`{ parts: 8, subjects: [${subject}] }`, `    key: ${key}\n`);
  expect(loaded).toMatchObject({
    problems: [
      {
        line: 5,
        path: 'policies[0].split.subjects[0]',
        message: expect.stringContaining(message),
        hint: expect.stringContaining(hint),
      },
    ],
  });
});

test.each([
  ['ip', 'ip=10.0.0.1'],
  ['ip', 'ip=2001:db8::/64'],
  ['ip', 'ip=2002:a00:1::/48'],
  ['header:X-Key', '"header.x-key=50%"'],
  ['[ip, header:X-Key]', '"ip,header.x-key=50%25%2C"'],
  ['global', 'global'],
  ['ip', 'anonymous'],
  ['[ip, header:X-Key]', '"ip=10.0.0.1,header.x-key=k1"'],
  ['[ip, header:X-Key]', '"ip=10.0.0.1,header.x-key"'],
])('with key: %s a split subject may be %s', (key, subject) => {
  expect(load(`{ parts: 8, subjects: [${subject}] }`, `    key: ${key}\n`)).toHaveProperty('config');
});

test('how many bits of an address count is what the file says', () => {
  const loaded = load('{ parts: 8, subjects: [ip=2001:db8::/64] }', '    key: ip\n', 'memory\nipv6Prefix: 56');
  expect(loaded).toMatchObject({ problems: [{ hint: expect.stringContaining('write "ip=2001:db8::/56"') }] });
});

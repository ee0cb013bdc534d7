import { expect, test } from 'vitest';
import { describePolicies } from '../../../packages/server/src/cli/describe.js';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { formatProblem } from '../../../packages/server/src/config/problem.js';

const load = (split: string, more = ''): ReturnType<typeof loadConfig> =>
  loadConfig(
    'policies:\n  - name: p\n    limits: [{ slidingWindow: { limit: 1000, window: 1h } }]\n' +
      `    split: ${split}\n${more}` +
      'gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }\n',
    {},
  );

test.each([
  ['{ parts: 8 }', 'split in 8 parts: refused too early slidingWindow up to 3.6 %, and all costs above 125'],
  ['{ parts: 2, subjects: [all] }', 'split in 2 parts: refused too early slidingWindow up to 1.8 %'],
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
  ['{ parts: 8 }', '    blocks: true\n'],
])('split: %s in a file is refused with its place', (split, more) => {
  const loaded = load(split, more);
  const problems = 'problems' in loaded ? loaded.problems.map((problem) => formatProblem('f', problem)) : [];
  expect(problems).toEqual([expect.stringMatching(/^f:4:\d+: .*split/)]);
});

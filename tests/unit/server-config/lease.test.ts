import { expect, test } from 'vitest';
import { describePolicies } from '../../../packages/server/src/cli/describe.js';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { formatProblem } from '../../../packages/server/src/config/problem.js';

const load = (lease: string, more = '', store = 'redis://127.0.0.1:6379'): ReturnType<typeof loadConfig> =>
  loadConfig(
    `store: ${store}\n` +
      'policies:\n  - name: p\n    limits: [{ slidingWindow: { limit: 1000, window: 1h } }]\n' +
      `    lease: ${lease}\n${more}` +
      'gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }\n',
    {},
  );

test.each([
  ['{ maxOvershoot: 5% }', 'slidingWindow + 50'],
  ['{ maxOvershoot: 30, lasts: 1s }', 'slidingWindow + 30'],
  ['{ maxOvershoot: 5%, strict: true }', 'slidingWindow + 0 (never beyond it)'],
])('a policy with lease: %s has it, and says how far it goes', (lease, bound) => {
  const loaded = load(lease);
  if (!('config' in loaded)) throw new Error('the file was refused');
  const [line] = describePolicies(loaded.config);
  expect(line).toContain(`leases: all processes together admit at most ${bound}`);
});

const LARGE = '    plans: { big: [{ fixedWindow: { limit: 50000000, window: 1h } }] }\n    plan: header:x-plan\n';
const PLANS = '    plans: { big: [{ slidingWindow: { limit: 90000, window: 1h } }] }\n    plan: header:x-plan\n';

test.each([
  ['{ maxOvershoot: 5% }', PLANS, 'redis://127.0.0.1:6379', 'admit at most slidingWindow + 4500'],
  ['{ maxOvershoot: 0.1% }', '', 'redis://127.0.0.1:6379', 'leases: never'],
  ['{ maxOvershoot: 0.0001% }', LARGE, 'redis://127.0.0.1:6379', 'admit at most fixedWindow + 0 (never beyond it)'],
  ['{ maxOvershoot: 0.1%, strict: true }', '', 'redis://127.0.0.1:6379', 'leases: never'],
  ['{ maxOvershoot: 5% }', '', 'memory', 'leases: no effect with store: memory'],
])('lease: %s%s over %s says: %s', (lease, more, store, words) => {
  const loaded = load(lease, more, store);
  if (!('config' in loaded)) throw new Error(JSON.stringify(loaded));
  expect(describePolicies(loaded.config)[0]).toContain(words);
});

test.each([
  ['5%', ''],
  ['{ maxOvershoot: five }', ''],
  ['{ maxOvershoot: 5%, lasts: 1m }', ''],
  ['{ maxOvershoot: 5%, last: 1s }', ''],
  ['{ maxOvershoot: 5% }', '    overrides: true\n'],
])('lease: %s in a file is refused with its place', (lease, more) => {
  const loaded = load(lease, more);
  const problems = 'problems' in loaded ? loaded.problems.map((problem) => formatProblem('f', problem)) : [];
  expect(problems).toEqual([expect.stringMatching(/^f:5:\d+: .*lease/)]);
});

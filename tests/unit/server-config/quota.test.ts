import { expect, test } from 'vitest';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { formatProblem } from '../../../packages/server/src/config/problem.js';

const file = (settings: string): string =>
  `policies:\n  - name: p\n    limits:\n      - quota: ${settings}\n` +
  'gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }\n';

const load = (settings: string): ReturnType<typeof loadConfig> => loadConfig(file(settings), {});

function problemsOf(settings: string): readonly string[] {
  const loaded = load(settings);
  return 'problems' in loaded ? loaded.problems.map((problem) => formatProblem('f', problem)) : [];
}

test.each([
  '{ limit: 1000, per: month, timeZone: America/Sao_Paulo }',
  '{ limit: 1000, per: hour }',
  '{ limit: 1000, every: 1 month, from: 2026-01-31 }',
  '{ limit: 1000, every: 2 weeks, from: 2026-01-31T09:30, timeZone: Asia/Kolkata }',
  '{ limit: 1000, per: month, from: 2026-03-10, prorate: true }',
])('a file takes the quota %s', (settings) => {
  expect(problemsOf(settings)).toEqual([]);
  expect(load(settings)).toMatchObject({ config: { gate: { policies: [{ limits: [{ limit: 1000 }] }] } } });
});

test.each([
  ['{ limit: 1, per: fortnight }', 'quota.per'],
  ['{ limit: 1, per: month, timeZone: Mars/Olympus }', 'quota.timeZone'],
  ['{ limit: 1, per: month, every: 1 month, from: 2026-01-31 }', 'quota.every'],
  ['{ limit: 1, every: 1 month }', 'quota.from'],
  ['{ limit: 1, every: 1 month, from: 2026-02-30 }', 'quota.from'],
  ['{ limit: 1, every: 1 lustrum, from: 2026-02-28 }', 'quota.every'],
  ['{ limit: 1, per: month, prorate: yes please }', 'quota.prorate'],
  ['{ limit: 1, per: month, timezone: UTC }', 'timezone'],
])('a file with the quota %s is refused, and %s is named with its place', (settings, field) => {
  expect(problemsOf(settings)).toEqual([expect.stringMatching(/^f:4:\d+: /)]);
  expect(problemsOf(settings)[0]).toContain(field);
});

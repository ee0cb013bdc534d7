import { expect, it } from 'vitest';
import { loadConfig } from '../../packages/server/src/config/load.js';
import type { Problem } from '../../packages/server/src/config/problem.js';
import { cpuMsOf } from '../support/cpu.js';

const head = 'gateway:\n  listen: 127.0.0.1:0\n  routes:\n    - { path: /, upstream: echo }\n';

/** A running gateway answers nobody while it checks a file. Far above what it takes, far below what it took. */
const LIMIT_MS = 2500;

function problemsOf(text: string): readonly Problem[] {
  let loaded: ReturnType<typeof loadConfig> = { problems: [] };
  const load = () => {
    loaded = loadConfig(text, {});
  };
  expect(cpuMsOf(load, 1)).toBeLessThan(LIMIT_MS);
  return 'problems' in loaded ? loaded.problems : [];
}

const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n');

it('says the first hundred of thousands of unknown fields, in time', () => {
  const problems = problemsOf(head + lines(40_000, (i) => `k${i}: 1`));
  expect(problems).toHaveLength(101);
  expect(problems[0]).toMatchObject({ line: 5, column: 1, path: 'k0', message: 'unknown field' });
  expect(problems.at(-1)?.message).toBe('and more');
});

it('finds a repeated key among thousands, in time', () => {
  const problems = problemsOf(`${head}${lines(40_000, (i) => `k${i}: 1`)}\nk7: 2\n`);
  expect(problems).toEqual([expect.objectContaining({ line: 40_005, message: 'this key is given twice' })]);
});

it('says the first hundred of thousands of wrong policies, in time', () => {
  const problems = problemsOf(`${head}policies:\n${lines(8000, (i) => `  - { nme: p${i}, limits: 5 }`)}`);
  expect(problems).toHaveLength(101);
  expect(problems[0]).toMatchObject({ line: 6 });
});

it('checks the order of 12 000 routes in time', () => {
  const routes = lines(12_000, (i) => `    - { path: /a${i}/b, host: h${i % 7}.a.example, upstream: echo }`);
  const start = 'gateway:\n  listen: 127.0.0.1:0\n  routes:\n';
  expect(problemsOf(start + routes)).toEqual([]);
  const late = '\n    - { path: /a7/b/c/d, host: h0.a.example, upstream: echo }';
  expect(problemsOf(start + routes + late)).toEqual([
    expect.objectContaining({ message: expect.stringContaining('never reached: the route on line 11 ') }),
  ]);
});

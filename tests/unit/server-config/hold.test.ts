import { createGate } from 'comporta/http';
import { faultyStore } from 'comporta/testing';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { formatProblem } from '../../../packages/server/src/config/problem.js';

const load = (hold: string): ReturnType<typeof loadConfig> =>
  loadConfig(
    `policies:\n  - name: p\n    limits: [{ slidingWindow: { limit: 1, window: 1h } }]\n    hold: ${hold}\n` +
      'gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }\n',
    {},
  );

test.each([
  ['60s', false],
  ['false', true],
])('a policy with hold: %s in a file has it', async (hold, isAsked) => {
  const loaded = load(hold);
  if (!('config' in loaded)) throw new Error('the file was refused');
  const gate = createGate({ ...loaded.config.gate, store: faultyStore() });
  const limiter = gate.limiters.get('p');
  await limiter?.consume('s');
  expect(limiter?.decide('s') instanceof Promise).toBe(isAsked);
  await gate.close();
});

test.each([
  ['true', 'expected a duration .*1ms to 1m, or false, got true'],
  ['0', 'expected 1ms to 1m, or false, got 0'],
  ['0ms', 'expected 1ms to 1m, or false, got "0ms"'],
  ['2m', 'expected 1ms to 1m, or false, got "2m"'],
  ['5us', 'expected a duration .*1ms to 1m, or false, got "5us"'],
  ['null', 'missing'],
])('hold: %s in a file is refused with its place and what it may be', (hold, why) => {
  const loaded = load(hold);
  const problems = 'problems' in loaded ? loaded.problems.map((problem) => formatProblem('f', problem)) : [];
  expect(problems).toEqual([expect.stringMatching(new RegExp(`^f:4:\\d+: .*hold: ${why}`))]);
});

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const bench = fileURLToPath(new URL('../../../bench/', import.meta.url));

test.each<[string, string[], Record<string, string>, RegExp]>([
  ['a number of rounds that is none', ['run.mjs'], { BENCH_ROUNDS: 'few' }, /^BENCH_ROUNDS: .*whole.*, got "few"$/],
  ['a flag of no benchmark', ['run.mjs', '--write'], {}, /^--write: name the one benchmark/],
  ['a benchmark that there is none of', ['run.mjs', 'speed'], {}, /^no benchmark speed; there are .*memory/],
  ['an unknown flag beside other libraries', ['peers-lib/run.mjs', '--quik'], {}, /'--quik'; there are --quick/],
  ['a stray word beside other libraries', ['peers-lib/run.mjs', 'quick'], {}, /'quick'; there are --quick/],
])('%s is told in a line, before anything runs', (_, [script = '', ...words], settings, expected) => {
  const env = { ...process.env, ...settings };
  const { status, stdout, stderr } = spawnSync(process.execPath, [bench + script, ...words], { env, encoding: 'utf8' });
  expect({ status, stdout, lines: stderr.trim().split('\n') }).toEqual({
    status: 2,
    stdout: '',
    lines: [expect.stringMatching(expected)],
  });
});

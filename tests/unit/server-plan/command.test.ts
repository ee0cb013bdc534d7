import { afterEach, expect, test, vi } from 'vitest';
import { runCli } from '../../../packages/server/src/cli/run.js';

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = 0;
});

async function run(
  ...words: readonly string[]
): Promise<{ readonly out: string; readonly error: string; code: unknown }> {
  const [out, error] = [[] as string[], [] as string[]];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0);
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => error.push(String(text)) > 0);
  await runCli(['plan', ...words]);
  return { out: out.join(''), error: error.join(''), code: process.exitCode };
}

const LOAD = ['--rps', '50k', '--subjects', '1.5M'];

test('a plan is printed for people', async () => {
  const { out, code } = await run(...LOAD, '--limits', 'tokenBucket,slidingWindow=100');
  expect(out).toContain('50,000 decisions/s on 1,500,000 subjects');
  expect(out).toMatch(/^ {2}carries {7}\d+\.\d times this demand$/m);
  expect(code).toBe(0);
});

test('and for programs', async () => {
  const { out } = await run(...LOAD, '--limits', 'tokenBucket', '--json', '--replicas', '0');
  expect(JSON.parse(out)).toMatchObject({ eachMaster: { replicaBytes: 0 } });
});

test('leases of the busiest subject are reckoned with', async () => {
  const words = [...LOAD, '--limits', 'tokenBucket', '--lease', '5%', '--limit', '10k', '--processes', '20'];
  expect((await run(...words)).out).toContain('of 25 units: 0.040 calls a decision while it is below its limit');
  const { out } = await run(...words, '--hottest', '2k', '--json');
  expect(JSON.parse(out.slice(out.indexOf('{')))).toMatchObject({ lease: { units: 10, callsPerDecision: 0.1 } });
});

test('for programs too it says how the busiest subject is split, and why it has no leases', async () => {
  const words = ['--rps', '300k', '--subjects', '1', '--limits', 'tokenBucket', '--hottest', '150k', '--limit', '30'];
  const { out } = await run(...words, '--lease', '5%', '--processes', '20', '--json');
  expect(JSON.parse(out)).toMatchObject({
    split: { parts: 0, why: expect.stringContaining('16 units') },
    lease: { units: 0, why: expect.stringContaining('less than 2 units') },
  });
});

test('numbers are grouped, and one is one', async () => {
  const { out } = await run('--rps', '1G', '--subjects', '1', '--limits', 'tokenBucket');
  expect(out).toContain('on 1 subject: tokenBucket');
  expect(out).toMatch(/30,000 servers/);
});

test.each([
  [['--lease', '5%', '--limit', '100', '--processes', '20'], 'a limit of 800, or 40%, would do'],
  [['--lease', '5%', '--limit', '30', '--processes', '20'], 'a limit of 800 would do'],
  [['--lease', '30', '--limit', '1000', '--processes', '20'], '40 units would do'],
  [['--lease', '30', '--limit', '30', '--processes', '20'], '40 units of as large a limit would do'],
  [['--lease', '5%', '--limit', '10k', '--processes', '20', '--hottest', '300'], 'less than 2 times while a lease'],
])('%j: there are none, and it says why', async (words, why) => {
  expect((await run(...LOAD, '--limits', 'tokenBucket', ...words)).out).toContain(why);
});

test.each([
  [['--limits', 'tokenBucket'], '--rps is missing'],
  [['--rps', 'many', '--subjects', '1', '--limits', 'tokenBucket'], '--rps expected a number'],
  [['--rps', '0', '--subjects', '1', '--limits', 'tokenBucket'], '--rps expected a number'],
  [[...LOAD], '--limits is missing'],
  [[...LOAD, '--limits', 'tokenBuckt'], 'did you mean tokenBucket?'],
  [[...LOAD, '--limits', 'toString'], 'no algorithm "toString"'],
  [[...LOAD, '--limits', 'slidingWindow'], 'slidingWindow=1000'],
  [[...LOAD, '--limits', 'slidingWindow=0'], 'slidingWindow=1000'],
  [[...LOAD, '--limits', 'tokenBucket=5'], 'without "="'],
  [[...LOAD, '--limits', Array(9).fill('tokenBucket').join()], 'at most 8'],
  [[...LOAD, '--limits', 'tokenBucket', '--replicas', '-1'], '--replicas'],
  [[...LOAD, '--limits', 'tokenBucket', '--load', '101'], '--load'],
  [[...LOAD, '--limits', 'tokenBucket', '--memory', '4'], '--memory'],
  [[...LOAD, '--limits', 'tokenBucket', '--lease', '5%'], '--limit is missing'],
  [[...LOAD, '--limits', 'tokenBucket', '--lease', '5%', '--limit', '1k'], '--processes is missing'],
  [[...LOAD, '--limits', 'tokenBucket', '--lease', '101%'], '--lease expected a percentage such as 5%, up to 100%'],
  [[...LOAD, '--limits', 'tokenBucket', '--limit', '100'], '--limit changes nothing without --lease or --hottest'],
  [
    [...LOAD, '--limits', 'tokenBucket', '--limit', '100', '--hottest', '9'],
    '--limit changes nothing without --lease: one master has --hottest whole',
  ],
  [[...LOAD, '--limits', 'tokenBucket', '--rps', '9k'], '--rps is given twice'],
  [[...LOAD, '--limits', 'tokenBucket', '--lease', '1.5'], '--lease expected'],
  [[...LOAD, '--limits', 'tokenBucket', '--processes', '3'], '--processes changes nothing without --lease'],
  [[...LOAD, '--limits', 'tokenBucket', '--hottest', '60k'], '--hottest is part of --rps: write --rps 60k or more'],
  [[...LOAD, '--limits', 'tokenBucket', '--limit', 'x'], '--limit expected a number'],
  [[...LOAD, '--limits', 'concurrency=9', '--lease', '5%'], '--lease cannot be used with concurrency'],
])('%j is refused, and what is wrong is named', async (words, message) => {
  const { error, code } = await run(...words);
  expect(error).toContain(message);
  expect(error).toMatch(/\nTry: comporta plan --help\n$/);
  expect(code).toBe(2);
});

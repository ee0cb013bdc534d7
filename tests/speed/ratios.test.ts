import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/**
 * What the speed of the library rests on, as `npm run bench ratios` measures it: against something else that runs in
 * turns with it, so that a slow or busy machine slows both. Far below what was measured: this finds what got lost, not
 * what got a little slower.
 */
const RATIOS = [
  { name: 'memory', of: 'decide() in memory, times a bare Map of buckets', measured: 0.42, least: 0.2 },
  {
    name: 'batch',
    of: 'decisions per second at 64 in flight, times those with batch: false',
    measured: 2.6,
    least: 1.3,
  },
  {
    name: 'hold',
    of: 'refusals per second of CPU time with a hold, times those with hold: false',
    measured: 10,
    least: 4,
  },
  {
    name: 'lease',
    of: 'decisions per second one by one with a lease of 100, times those without',
    measured: 40,
    least: 8,
  },
  {
    name: 'client',
    of: 'decisions per second of CPU time, times EVALSHA by the same client',
    measured: 2.3,
    least: 1.1,
  },
];

const bench = fileURLToPath(new URL('../../bench/ratios.mjs', import.meta.url));

test.each(RATIOS)('$of: at least $least', ({ name, of, measured, least }) => {
  const ratio = Number(execFileSync(process.execPath, [bench, name], { encoding: 'utf8', timeout: 60_000 }));
  expect(ratio, `${of}: ${ratio.toFixed(2)}, where ${measured} was measured`).toBeGreaterThanOrEqual(least);
});

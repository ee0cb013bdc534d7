// `npm run bench [name ...] [-- --flag ...]`: every benchmark, or those named, one after the other. A benchmark
// reports and judges nothing; what must hold is held by tests/speed.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refuse, roundsOr } from './lib/settings.mjs';

const folder = dirname(fileURLToPath(import.meta.url));
const known = readdirSync(folder)
  .filter((name) => name.endsWith('.mjs') && name !== 'run.mjs')
  .map((name) => name.slice(0, -4));
const HELP = `npm run bench [name ...]           every benchmark, or those named
npm run bench name -- --flag ...   flags of one benchmark, such as: figures -- --write
BENCH_ROUNDS=3                     how many rounds, 1 to 1000

There are ${known.join(', ')}.`;
/** Of a benchmark that was told something that it does not take. */
const MISUSE = 2;

const words = process.argv.slice(2);
if (words.includes('--help')) {
  console.log(HELP);
  process.exit(0);
}
const at = words.findIndex((word) => word.startsWith('-'));
const names = at < 0 ? words : words.slice(0, at);
const flags = at < 0 ? [] : words.slice(at);
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) refuse(`no benchmark ${unknown.join(', ')}; there are ${known.join(', ')}`);
if (flags.length > 0 && names.length !== 1) refuse(`${flags[0]}: name the one benchmark that it is for, before it`);
roundsOr(1);

console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}`);
console.log('Compare ratios, not absolute figures: both sides of a ratio ran in turns, in the same seconds.\n');
const failed = [];
for (const name of names.length > 0 ? names : known) {
  const { status } = spawnSync(process.execPath, [join(folder, `${name}.mjs`), ...flags], { stdio: 'inherit' });
  if (status === null || status === MISUSE) process.exit(status ?? 1);
  if (status !== 0) failed.push(name);
  console.log();
}
if (failed.length > 0) {
  console.error(`ended with an error: ${failed.join(', ')}`);
  process.exit(1);
}

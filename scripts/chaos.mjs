// `npm run chaos`: every client on every topology under every fault; writes docs/chaos.md.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './lib/aliases.mjs';
import { findServers } from './lib/find-servers.mjs';

register('./lib/typescript-hooks.mjs', import.meta.url);
const { cells, nameOf } = await import('../tests/chaos/matrix/cells.ts');
const { lineOf, runMatrix } = await import('../tests/chaos/matrix/matrix.ts');
const { pageOf } = await import('../tests/chaos/matrix/page.ts');
const { installedKinds } = await import('../tests/support/servers.ts');

const { values } = parseArgs({ options: { only: { type: 'string', default: '' }, server: { type: 'string' } } });
const words = values.only.toLowerCase().split(' ').filter(Boolean);
const wanted = cells.filter((cell) => words.every((word) => nameOf(cell).toLowerCase().includes(word)));
const kind = values.server ?? installedKinds()[0];
if (kind === undefined || !installedKinds().includes(kind)) {
  console.error('No such server is installed: run `node scripts/install-servers.mjs`.');
  process.exit(1);
}
if (wanted.length === 0) {
  console.error(`No cell is called so. Cells are called, for example, "${nameOf(cells[0])}".`);
  process.exit(1);
}

function versionOf(name) {
  const text = execFileSync(findServers()[name], ['--version'], { encoding: 'utf8' });
  return `${name === 'redis' ? 'Redis' : 'Valkey'} ${/v=(\S+)/.exec(text)?.[1] ?? ''}`;
}

const startMs = performance.now();
let done = 0;
const outcomes = await runMatrix(wanted, kind, (outcome) => {
  done++;
  const leftS = (((performance.now() - startMs) / done) * (wanted.length - done)) / 1000;
  console.log(`${lineOf(outcome)} (${done}/${wanted.length}, ${leftS.toFixed(0)} s left)`);
  for (const { text } of outcome.missed) console.log(`       ${text}`);
});
const missed = outcomes.filter((outcome) => outcome.missed.length > 0);
console.log(`${outcomes.length - missed.length} cells met every goal, ${missed.length} did not`);
// A part of the matrix is no table to keep.
if (wanted.length === cells.length) writeFileSync(join(root, 'docs/chaos.md'), pageOf(outcomes, versionOf(kind)));
process.exit(missed.length === 0 ? 0 : 1);

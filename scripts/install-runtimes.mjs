// Installs what some tests need beside the root's packages: runtimes and whole applications, each in a folder of
// its own under tests/ with its own lock, so that nobody else installs them. Does nothing where all is there.
// With names of folders as arguments only those.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from './lib/aliases.mjs';
import { run } from './lib/run.mjs';

/** Written after an installation: what the lock was that it followed. */
const STAMP = 'node_modules/.installed-lock';
const DEPTH = 2;

/** Folders with a lock of their own, `tests/runtimes` and `tests/apps/next` for example. */
function projectsIn(folder, depth = DEPTH) {
  const inside = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    .map(({ name }) => join(folder, name));
  return inside.flatMap((path) => {
    if (existsSync(join(path, 'package-lock.json'))) return [path];
    return depth > 1 ? projectsIn(path, depth - 1) : [];
  });
}

const lockOf = (folder) =>
  createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');

function isInstalled(folder) {
  const stamp = join(folder, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === lockOf(folder);
}

async function install(folder) {
  const name = relative(root, folder);
  const startMs = performance.now();
  console.log(`${name}: installing`);
  const args = ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  const { ok, output } = await run('npm', args);
  if (ok) writeFileSync(join(folder, STAMP), lockOf(folder));
  else console.error(`${name}: npm ci failed\n${output.trimEnd()}`);
  if (ok) console.log(`${name}: installed in ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
  return ok;
}

const named = process.argv.slice(2).map((name) => join(root, name));
let failed = 0;
for (const folder of named.length > 0 ? named : projectsIn(join(root, 'tests'))) {
  if (isInstalled(folder)) console.log(`${relative(root, folder)}: is installed`);
  else if (!(await install(folder))) failed++;
}
process.exit(failed === 0 ? 0 : 1);

// Makes sure that Chromium and what drives it are here for the tests: installs what is missing when it may, else says
// what to do. Without them the tests in tests/browser are left out.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hasCandidate, install, refreshIndex } from './lib/apt.mjs';
import { findBrowser } from './lib/find-browser.mjs';
import { which } from './lib/find-servers.mjs';

const folder = fileURLToPath(new URL('../tests/browser/', import.meta.url));
const mayInstall = process.getuid?.() === 0 && which('apt-get') !== undefined;

function attempt(what, run) {
  console.log(what);
  try {
    run();
  } catch (error) {
    const words = String(error.stderr ?? '').trim() || error.message;
    console.log(`${what} failed: ${words.split('\n').at(-1)}`);
  }
}

if (!existsSync(join(folder, 'node_modules/playwright-core'))) {
  attempt('npm ci in tests/browser', () => execFileSync('npm', ['ci'], { cwd: folder, stdio: 'pipe' }));
}
if (findBrowser() === undefined && mayInstall) {
  attempt('installing chromium', () => {
    if (!hasCandidate('chromium')) refreshIndex();
    install(['chromium']);
  });
}
const path = findBrowser();
if (path === undefined)
  console.log('chromium is not installed: tests that need it are left out; install it to run them');
else
  console.log(
    `${execFileSync(path, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()} at ${path}`,
  );

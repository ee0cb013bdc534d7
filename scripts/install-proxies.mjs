// Makes sure that nginx and Caddy are here for the tests of forward-auth: installs what is missing when it may, else
// says what is left out.
import { hasCandidate, install, refreshIndex } from './lib/apt.mjs';
import { which } from './lib/find-servers.mjs';

const packages = { nginx: 'nginx-light', caddy: 'caddy' };
const missing = () => Object.keys(packages).filter((name) => which(name) === undefined);
const mayInstall = process.getuid?.() === 0 && which('apt-get') !== undefined;

if (missing().length > 0 && mayInstall) {
  if (missing().some((name) => !hasCandidate(packages[name]))) refreshIndex();
  for (const name of missing()) {
    try {
      install([packages[name]]);
    } catch (error) {
      console.log(
        `installing ${name} failed: ${String(error.stderr ?? error)
          .trim()
          .split('\n')
          .at(-1)}`,
      );
    }
  }
}
for (const name of missing()) console.log(`${name} is not installed: tests that need it are left out`);

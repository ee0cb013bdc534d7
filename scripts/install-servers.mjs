// Makes sure that Redis and Valkey are here for the tests: installs what is missing when it may, else says what to do.
import { hasCandidate, install, refreshIndex, withBackports } from './lib/apt.mjs';
import { findServers, kinds, serverVersion, which } from './lib/find-servers.mjs';

const missing = () => kinds.filter((kind) => findServers()[kind] === undefined);
const mayInstall = process.getuid?.() === 0 && which('apt-get') !== undefined;

/** From the distribution when it has the package, else from its backports. */
function installKind(kind) {
  const name = `${kind}-server`;
  if (hasCandidate(name)) return install([name]);
  return withBackports((options) => {
    if (options === undefined) throw new Error('this release has no such package');
    refreshIndex(options);
    return install([name], options);
  });
}

function attempt(what, run) {
  try {
    run();
  } catch (error) {
    const words = String(error.stderr ?? '').trim() || error.message;
    console.log(`${what} failed: ${words.split('\n').at(-1)}`);
  }
}

if (missing().length > 0 && mayInstall) {
  attempt('apt-get update', () => refreshIndex());
  for (const kind of missing()) attempt(`installing ${kind}-server`, () => installKind(kind));
}
for (const [kind, path] of Object.entries(findServers()))
  console.log(`${kind}-server ${serverVersion(path)} at ${path}`);
for (const kind of missing()) console.log(`${kind}-server is not installed: tests that need it are left out`);
if (missing().length === kinds.length) {
  console.error('Install redis-server (7.0 or later) or valkey-server (8.0 or later) with your package manager.');
  process.exit(1);
}

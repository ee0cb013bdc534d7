// `npm test`: everything that proves the promises, against real servers. The last line says how it went.
import { run, step } from './lib/run.mjs';
import { check, total } from './lib/steps.mjs';
import { runVitest } from './lib/vitest.mjs';

const results = [];

async function stage(name, work) {
  const result = await step(name, work);
  results.push(result);
  return result.ok;
}

/** Most of it is from the network, so it goes on beside all that does not need it. */
const installRuntimes = () => run(process.execPath, ['scripts/install-runtimes.mjs']);

const install = (name, script) => stage(name, () => run(process.execPath, [`scripts/${script}.mjs`], { live: true }));

/** Tests against servers cannot go without a build or a server. */
async function prepare() {
  if (!(await stage('build', () => run('npm', ['run', '--silent', 'build'])))) return false;
  if (!(await install('servers', 'install-servers'))) return false;
  await install('proxies', 'install-proxies');
  await install('envoy', 'install-envoy');
  await install('deploy tools', 'install-deploy-tools');
  return true;
}

/** Tests go on after a failed check, so that one run shows all. */
async function everything() {
  const runtimes = stage('runtimes', installRuntimes);
  results.push(...(await check()));
  const isPrepared = await prepare();
  await runtimes;
  if (!isPrepared) return;
  // After the runtimes: what drives it is one of their folders.
  await install('browser', 'install-browser');
  await stage('real servers', () => runVitest('real', { live: true }));
  await stage('cluster and chaos', () => runVitest('alone', { live: true }));
}

await everything();
const { passed, failed } = total(results);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

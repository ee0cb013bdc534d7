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

/** From the network, while the checks use the processors. */
const installRuntimes = () => run(process.execPath, ['scripts/install-runtimes.mjs']);

/** Tests go on after a failed check, so that one run shows all; without a build or a server they cannot. */
async function everything() {
  const [checked] = await Promise.all([check(), stage('runtimes', installRuntimes)]);
  results.push(...checked);
  if (!(await stage('build', () => run('npm', ['run', '--silent', 'build'])))) return;
  if (!(await stage('servers', () => run(process.execPath, ['scripts/install-servers.mjs'], { live: true })))) return;
  await stage('proxies', () => run(process.execPath, ['scripts/install-proxies.mjs'], { live: true }));
  await stage('browser', () => run(process.execPath, ['scripts/install-browser.mjs'], { live: true }));
  await stage('envoy', () => run(process.execPath, ['scripts/install-envoy.mjs'], { live: true }));
  await stage('deploy tools', () => run(process.execPath, ['scripts/install-deploy-tools.mjs'], { live: true }));
  await stage('real servers', () => runVitest('real', { live: true }));
  await stage('cluster and chaos', () => runVitest('alone', { live: true }));
}

await everything();
const { passed, failed } = total(results);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

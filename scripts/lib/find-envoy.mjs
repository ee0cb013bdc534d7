// Where the Envoy of this machine is. No dependencies.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { which } from './find-servers.mjs';

export const ENVOY_VERSION = '1.40.0';

/** Where the installer puts it, for all working copies. */
export const envoyFolder = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'comporta',
  `envoy-${ENVOY_VERSION}`,
);

/** Full path of an Envoy, or undefined. */
export function findEnvoy() {
  const installed = join(envoyFolder, 'envoy/_bin/envoy');
  return existsSync(installed) ? installed : which('envoy');
}

// Where envoyproxy/ratelimit is, the rate limit service of the Envoy project. No dependencies.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Its main branch: it makes no releases. */
export const RATELIMIT_VERSION = 'v1.4.1-0.20260122083618-3fb702589d36';

/** Where the installer puts it, for all working copies. */
export const ratelimitFolder = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'comporta',
  `envoy-ratelimit-${RATELIMIT_VERSION}`,
);

/** Full path of its server, or undefined. */
export function findRatelimit() {
  const path = join(ratelimitFolder, 'service_cmd');
  return existsSync(path) ? path : undefined;
}

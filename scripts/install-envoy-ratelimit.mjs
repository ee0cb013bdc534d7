// Builds envoyproxy/ratelimit from its Go module into a cache folder, when it may: `npm run bench rls` then runs it
// beside this project's service. Without it the benchmark leaves it out.
import { execFileSync } from 'node:child_process';
import { findRatelimit, RATELIMIT_VERSION, ratelimitFolder } from './lib/find-envoy-ratelimit.mjs';
import { which } from './lib/find-servers.mjs';

const go = which('go');

if (findRatelimit() === undefined && go !== undefined) {
  console.log(`building envoyproxy/ratelimit ${RATELIMIT_VERSION}`);
  const module = `github.com/envoyproxy/ratelimit/src/service_cmd@${RATELIMIT_VERSION}`;
  try {
    execFileSync(go, ['install', module], { stdio: 'pipe', env: { ...process.env, GOBIN: ratelimitFolder } });
  } catch (error) {
    const words = String(error.stderr ?? '').trim() || error.message;
    console.log(`building envoyproxy/ratelimit failed: ${words.split('\n').at(-1)}`);
  }
}
console.log(findRatelimit() ?? 'envoyproxy/ratelimit is not here: the benchmark leaves it out; it needs Go to build');

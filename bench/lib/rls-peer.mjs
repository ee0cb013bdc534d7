// envoyproxy/ratelimit as a server of the benchmark: with its own defaults, and metrics for Prometheus as this
// project's service has them. Settings of it that are in the environment (REDIS_POOL_SIZE and so on) are passed on.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuUsOfTree } from './processes.mjs';
import { accepts, freePort } from './redis.mjs';
import { DOMAIN } from './rls-domain.mjs';

const START_MS = 10_000;

/** Starts it on a Redis: `type` is SINGLE or CLUSTER, `url` the addresses as it wants them. */
export async function startPeer(path, { type, url }) {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-bench-'));
  mkdirSync(join(folder, 'config'));
  writeFileSync(join(folder, 'config/shop.yaml'), JSON.stringify(DOMAIN));
  const [port, http, debug, prometheus] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const host = '127.0.0.1';
  const env = {
    ...process.env,
    ...{ HOST: host, PORT: http, DEBUG_HOST: host, DEBUG_PORT: debug, GRPC_HOST: host, GRPC_PORT: port },
    ...{ USE_STATSD: false, USE_PROMETHEUS: true, PROMETHEUS_ADDR: `${host}:${prometheus}` },
    ...{ RUNTIME_ROOT: folder, RUNTIME_WATCH_ROOT: false, LOG_LEVEL: 'error' },
    ...{ REDIS_SOCKET_TYPE: 'tcp', REDIS_TYPE: type, REDIS_URL: url },
  };
  const child = spawn(path, [], { env, stdio: ['ignore', 'ignore', 'ignore'] });
  process.once('exit', () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const endMs = Date.now() + START_MS;
  while (!(await accepts(port))) {
    if (child.exitCode !== null || Date.now() > endMs) throw new Error(`${path} does not listen`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { child, port, cpuUs: () => cpuUsOfTree(child.pid) };
}

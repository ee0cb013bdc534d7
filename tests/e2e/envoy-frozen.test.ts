import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findEnvoy } from '../../scripts/lib/find-envoy.mjs';
import { freePort } from '../support/ports.js';
import { startServer } from '../support/servers.js';
import { makeFolder, runCommand } from './cli-support.js';
import { startEnvoy } from './envoy-proxy.js';
import { publish } from './envoy-support.js';

const LIMIT = 10;
/** Far less than a frozen server would take, far more than a busy machine takes to schedule two processes. */
const ENVOY_WAITS_MS = 1000;
const DOMAIN = `domain: shop\ndescriptors: [{ key: user, rate_limit: { requests_per_unit: ${LIMIT}, unit: year } }]\n`;

/** Envoy, and one instance in front of a Redis that will freeze. */
async function setUp(onStoreFailure: string) {
  const redis = await startServer();
  onTestFinished(() => redis.stop());
  const upstream = createServer((_, response) => response.end('hello'));
  onTestFinished(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const folder = makeFolder();
  publish(join(folder, 'domains/shop.yaml'), DOMAIN);
  const port = await freePort();
  const file = join(folder, 'comporta.json');
  // The time limit is the service's own: 10 ms.
  const envoySection = { listen: `127.0.0.1:${port}`, config: 'domains', drainDelay: 0, onStoreFailure };
  publish(file, JSON.stringify({ store: redis.url, envoy: envoySection }));
  await runCommand(['serve', '-c', file]).says('envoy rate limit service on');
  const ports = { upstream: (upstream.address() as AddressInfo).port, ratelimit: [port] };
  const envoy = await startEnvoy(folder, ports, { timeout: `${ENVOY_WAITS_MS / 1000}s` });
  onTestFinished(() => envoy.stop());
  const statusOf = async (url: string): Promise<number> =>
    (await fetch(url, { headers: { 'x-user': 'frozen' } })).status;
  // The store answers, so that it is known to have been there.
  await expect.poll(() => statusOf(envoy.deny), { timeout: 5000 }).toBe(200);
  redis.freeze();
  return { envoy, statusOf };
}

describe.skipIf(findEnvoy() === undefined)('behind a real Envoy, a service whose store is frozen', () => {
  test('goes on counting, whether Envoy would let pass without an answer or refuse', async () => {
    const { envoy, statusOf } = await setUp('local');
    const statuses: number[] = [];
    for (let i = 0; i < LIMIT * 2; i++) statuses.push(await statusOf(i % 2 === 0 ? envoy.open : envoy.deny));
    expect(new Set(statuses.slice(LIMIT))).toEqual(new Set([429]));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(LIMIT - 3);
    // All were answered in time: Envoy itself decided nothing.
    expect(await envoy.figure('cluster.upstream.ratelimit.error')).toBe(0);
  });

  test('in mode closed leaves it to Envoy at once, which lets pass or refuses as it was told', async () => {
    const { envoy, statusOf } = await setUp('closed');
    const errors = await envoy.figure('cluster.upstream.ratelimit.error');
    const startMs = performance.now();
    for (let i = 0; i < 10; i++) {
      expect(await statusOf(envoy.open)).toBe(200);
      expect(await statusOf(envoy.deny)).toBe(500);
    }
    // Twenty times Envoy's patience, had the service kept it waiting.
    expect(performance.now() - startMs).toBeLessThan(10 * ENVOY_WAITS_MS);
    expect(await envoy.figure('cluster.upstream.ratelimit.error')).toBe(errors + 20);
    expect(await envoy.figure('cluster.upstream.ratelimit.failure_mode_allowed')).toBe(10);
    expect(await envoy.figure('cluster.ratelimit.upstream_rq_timeout')).toBe(0);
  });
});

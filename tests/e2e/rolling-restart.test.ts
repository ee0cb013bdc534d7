import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findEnvoy } from '../../scripts/lib/find-envoy.mjs';
import { freePort } from '../support/ports.js';
import { startServer } from '../support/servers.js';
import { TOKEN } from './api-support.js';
import { makeFolder, runCommand } from './cli-support.js';
import { startEnvoy } from './envoy-proxy.js';
import { publish } from './envoy-support.js';

const LIMIT = 1_000_000;

/** Calls one after another until it is ended; resolves to their statuses. */
function startLoad(call: () => Promise<number>): () => Promise<readonly number[]> {
  let isOver = false;
  const statuses: number[] = [];
  const load = async (): Promise<void> => {
    while (!isOver) statuses.push(await call().catch(() => 0));
  };
  const loads = [load(), load()];
  return async () => {
    isOver = true;
    await Promise.all(loads);
    return statuses;
  };
}

async function startUpstream(): Promise<number> {
  const upstream = createServer((_, response) => response.end('hello'));
  onTestFinished(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  return (upstream.address() as AddressInfo).port;
}

describe.skipIf(findEnvoy() === undefined)('a rolling restart of two instances behind a real Envoy', () => {
  test('fails no call over gRPC or HTTP, and counts each once', async () => {
    const redis = await startServer();
    onTestFinished(() => redis.stop());
    const folder = makeFolder();
    const rate = `{ requests_per_unit: ${LIMIT}, unit: year }`;
    const domain = `domain: shop\ndescriptors: [{ key: user, rate_limit: ${rate} }]\n`;
    publish(join(folder, 'domains/shop.yaml'), domain);
    const [ratelimit, api] = [
      [await freePort(), await freePort()],
      [await freePort(), await freePort()],
    ];
    const start = async (i: number) => {
      const file = join(folder, `comporta-${i}.json`);
      const config = {
        store: redis.url,
        timeout: '2s',
        policies: [{ name: 'calls', key: 'global', limits: { fixedWindow: { limit: LIMIT, window: '365d' } } }],
        api: { listen: `127.0.0.1:${api[i]}`, tokens: TOKEN },
        envoy: { listen: `127.0.0.1:${ratelimit[i]}`, config: 'domains', timeout: '2s', drainDelay: '2s' },
      };
      publish(file, JSON.stringify(config));
      const service = runCommand(['serve', '-c', file]);
      await service.says('envoy rate limit service on');
      return service;
    };
    const services = await Promise.all([start(0), start(1)]);
    const ports = { upstream: await startUpstream(), ratelimit, api };
    const envoy = await startEnvoy(folder, ports, { healthEvery: '0.2s' });
    onTestFinished(() => envoy.stop());

    const consume = async (cost: number) => {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ policy: 'calls', subject: 'all', cost });
      return fetch(`${envoy.api}/v1/consume`, { method: 'POST', headers, body });
    };
    const overGrpc = startLoad(async () => (await fetch(envoy.deny, { headers: { 'x-user': 'a' } })).status);
    const overHttp = startLoad(async () => (await consume(1)).status);
    for (const [i, service] of services.entries()) {
      service.signal('SIGTERM');
      expect(await service.exit()).toBe(0);
      await start(i);
      for (const cluster of ['ratelimit', 'api']) {
        const healthy = () => envoy.figure(`cluster.${cluster}.membership_healthy`);
        await expect.poll(healthy, { timeout: 5000 }).toBe(2);
      }
    }
    const [grpc, http] = await Promise.all([overGrpc(), overHttp()]);
    for (const statuses of [grpc, http]) {
      expect(statuses.length).toBeGreaterThan(50);
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
    }
    expect(await envoy.figure('cluster.upstream.ratelimit.error')).toBe(0);
    const { limits } = (await (await consume(0)).json()) as { readonly limits: readonly { remaining: number }[] };
    expect(limits[0]?.remaining).toBe(LIMIT - http.length);
    const last = await fetch(envoy.deny, { headers: { 'x-user': 'a' } });
    expect(last.headers.get('x-ratelimit-remaining')).toBe(String(LIMIT - grpc.length - 1));
  });
});

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findEnvoy } from '../../scripts/lib/find-envoy.mjs';
import { type Cluster, startCluster } from '../support/cluster.js';
import { freePort } from '../support/ports.js';
import { makeFolder, runCommand } from './cli-support.js';
import { type EnvoyProxy, startEnvoy } from './envoy-proxy.js';
import { publish } from './envoy-support.js';

const LIMIT = 20;

const domain = (limit: number): string => `domain: shop
descriptors:
  - { key: user, rate_limit: { requests_per_unit: ${limit}, unit: day } }
  - { key: user, value: named, rate_limit: { requests_per_unit: 1, unit: day, name: per-user } }
`;

let cluster: Cluster;
let upstream: Server;
let upstreamPort: number;
beforeAll(async () => {
  if (findEnvoy() === undefined) return;
  cluster = await startCluster();
  upstream = createServer((_, response) => response.end('hello'));
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  upstreamPort = (upstream.address() as AddressInfo).port;
});
afterAll(async () => {
  upstream?.closeAllConnections();
  upstream?.close();
  await cluster?.stop();
});

interface Setup {
  readonly envoy: EnvoyProxy;
  readonly services: ReturnType<typeof runCommand>[];
  readonly folder: string;
  /** Starts an instance again on its port. */
  start(i: number): Promise<void>;
  /** Changes the configuration of both. */
  configure(rest: string): void;
}

/** Envoy, and two instances of the service on the cluster. */
async function setUp(): Promise<Setup> {
  const folder = makeFolder();
  const ports = [await freePort(), await freePort()];
  publish(join(folder, 'domains/shop.yaml'), domain(LIMIT));
  const fileOf = (i: number): string => join(folder, `comporta-${i}.yaml`);
  const configure = (rest: string): void => {
    for (const [i, port] of ports.entries()) {
      const section = `{ listen: "127.0.0.1:${port}", config: domains, timeout: 2s, drainDelay: 0s${rest} }`;
      publish(fileOf(i), `store: ${cluster.url}\ninstances: 2\nenvoy: ${section}\n`);
    }
  };
  configure('');
  const services: ReturnType<typeof runCommand>[] = [];
  const start = async (i: number): Promise<void> => {
    const service = runCommand(['serve', '-c', fileOf(i)]);
    services[i] = service;
    await service.says('envoy rate limit service on');
  };
  await Promise.all(ports.map((_, i) => start(i)));
  const envoy = await startEnvoy(folder, { upstream: upstreamPort, ratelimit: ports });
  onTestFinished(() => envoy.stop());
  return { envoy, services, folder, start, configure };
}

const ask = (url: string, user: string): Promise<Response> => fetch(url, { headers: { 'x-user': user } });
const statusOf = async (url: string, user: string): Promise<number> => (await ask(url, user)).status;
const count = (numbers: readonly number[], wanted: number): number => numbers.filter((one) => one === wanted).length;

describe.skipIf(findEnvoy() === undefined)('behind a real Envoy', () => {
  test('two instances on one cluster admit exactly the limit, and clients are told', async () => {
    const { envoy } = await setUp();
    const statuses = await Promise.all(Array.from({ length: LIMIT * 3 }, () => statusOf(envoy.open, 'exact')));
    expect([count(statuses, 200), count(statuses, 429)]).toEqual([LIMIT, LIMIT * 2]);
    const asked = [...(await envoy.asked()).values()];
    expect(asked.length).toBe(2);
    for (const times of asked) expect(times).toBeGreaterThan(LIMIT);

    const first = await ask(envoy.open, 'named');
    expect([first.status, await first.text()]).toEqual([200, 'hello']);
    expect(first.headers.get('x-ratelimit-limit')).toBe('1, 1;w=86400;name="per-user"');
    expect(first.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(Number(first.headers.get('x-ratelimit-reset'))).toBeGreaterThan(0);
    const second = await ask(envoy.open, 'named');
    expect([second.status, second.headers.get('x-envoy-ratelimited')]).toEqual([429, 'true']);
    expect(second.headers.get('retry-after')).toBe(second.headers.get('x-ratelimit-reset'));
    expect(Number(second.headers.get('retry-after'))).toBeLessThanOrEqual(86_400);
    // No descriptor: nobody is asked.
    expect((await fetch(envoy.deny)).status).toBe(200);
  });

  test('a reload under traffic is in force within a second, and no request is lost', async () => {
    const { envoy, folder } = await setUp();
    let isOver = false;
    const statuses: number[] = [];
    const load = async (): Promise<void> => {
      while (!isOver) statuses.push(await statusOf(envoy.deny, `load-${statuses.length}`));
    };
    const loads = [load(), load()];
    publish(join(folder, 'domains/shop.yaml'), domain(7));
    const limit = async () => (await ask(envoy.deny, `look-${statuses.length}`)).headers.get('x-ratelimit-limit');
    await expect.poll(limit, { timeout: 1500, interval: 20 }).toBe('7, 7;w=86400');
    isOver = true;
    await Promise.all(loads);
    expect(statuses.length).toBeGreaterThan(20);
    expect(count(statuses, 200)).toBe(statuses.length);
  });

  test('without any instance Envoy does as it was told, and asks again once they are back', async () => {
    const { envoy, services, start } = await setUp();
    for (const service of services) service.signal('SIGKILL');
    await Promise.all(services.map((service) => service.exit()));
    expect(await statusOf(envoy.open, 'nobody')).toBe(200);
    expect(await statusOf(envoy.deny, 'nobody')).toBe(500);
    await Promise.all([start(0), start(1)]);
    await expect.poll(() => statusOf(envoy.deny, 'nobody'), { timeout: 10_000 }).toBe(200);
  });

  test('without its store the service goes on counting, or has Envoy decide', async () => {
    const { envoy, services, configure } = await setUp();
    await statusOf(envoy.open, 'outage');
    for (const node of cluster.nodes) await node.kill();
    const statuses: number[] = [];
    for (let i = 0; i < LIMIT * 3; i++) statuses.push(await statusOf(envoy.deny, 'outage'));
    // Each instance enforces its half of the limit; one request went before, and one half may not know of it.
    expect(count(statuses, 200)).toBeGreaterThanOrEqual(LIMIT - 2);
    expect(count(statuses, 200)).toBeLessThanOrEqual(LIMIT);
    expect(count(statuses, 200) + count(statuses, 429)).toBe(statuses.length);
    configure(', onStoreFailure: closed');
    for (const service of services) await service.says('configuration reloaded');
    expect(await statusOf(envoy.open, 'closed')).toBe(200);
    expect(await statusOf(envoy.deny, 'closed')).toBe(500);
  });
});

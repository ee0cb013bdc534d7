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
async function setUp(drainDelay = '0s'): Promise<Setup> {
  const folder = makeFolder();
  const ports = [await freePort(), await freePort()];
  publish(join(folder, 'domains/shop.yaml'), domain(LIMIT));
  const fileOf = (i: number): string => join(folder, `comporta-${i}.yaml`);
  const configure = (rest: string): void => {
    for (const [i, port] of ports.entries()) {
      const section = `{ listen: "127.0.0.1:${port}", config: domains, timeout: 2s, drainDelay: ${drainDelay}${rest} }`;
      publish(fileOf(i), `store: ${cluster.url}\nenvoy: ${section}\n`);
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

  test('an instance that ends and comes back costs no request; without any, Envoy does as it was told', async () => {
    // Longer than Envoy needs to hear of it: it asks every second.
    const { envoy, services, start } = await setUp('2500ms');
    let isOver = false;
    const statuses: number[] = [];
    const load = async (): Promise<void> => {
      while (!isOver) statuses.push(await statusOf(envoy.deny, `rolling-${statuses.length}`));
    };
    const loads = [load(), load()];
    for (const i of [0, 1]) {
      const ended = services[i];
      ended?.signal('SIGTERM');
      expect(await ended?.exit()).toBe(0);
      await start(i);
      const healthy = () => envoy.figure('cluster.ratelimit.membership_healthy');
      await expect.poll(healthy, { timeout: 5000 }).toBe(2);
    }
    isOver = true;
    await Promise.all(loads);
    expect(count(statuses, 200)).toBe(statuses.length);
    expect(await envoy.figure('cluster.upstream.ratelimit.error')).toBe(0);

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
    // Each instance enforces its part of the limit; one that was hardly asked before may not know of the other.
    expect(count(statuses, 200)).toBeGreaterThan(0);
    expect(count(statuses, 200)).toBeLessThanOrEqual(LIMIT * 2);
    expect(count(statuses, 200) + count(statuses, 429)).toBe(statuses.length);
    configure(', onStoreFailure: closed');
    for (const service of services) await service.says('configuration reloaded');
    expect(await statusOf(envoy.open, 'closed')).toBe(200);
    expect(await statusOf(envoy.deny, 'closed')).toBe(500);
  });
});

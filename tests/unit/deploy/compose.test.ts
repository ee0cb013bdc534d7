import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { documentsOf, isPinned, loadFolder } from '../../support/manifests.js';

const folder = join(import.meta.dirname, '../../../deploy/compose');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly networks: Readonly<Record<string, { readonly ipv4_address: string }>> | readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly read_only?: boolean;
  readonly stop_grace_period?: string;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, unknown>>;
}

const [compose = { services: {}, volumes: {}, networks: {} }] = documentsOf<Compose>(read('compose.yaml'));
const services = Object.entries(compose.services);
const named = (start: string): [string, Service][] => services.filter(([name]) => name.startsWith(start));
const addressOf = ({ networks }: Service): string | undefined =>
  'inside' in networks ? networks.inside?.ipv4_address : undefined;

test('there are six nodes, two instances, a service behind them, and one who joins the nodes', () => {
  const count = (start: string) => named(start).length;
  expect([count('valkey-'), count('comporta-'), count('web'), count('cluster')]).toEqual([6, 2, 1, 1]);
});

test.each(services)('%s has a pinned image, a read-only root, and names only what there is', (_, service) => {
  expect(isPinned(service.image)).toBe(true);
  expect(service.read_only).toBe(true);
  for (const name of Object.keys(service.depends_on ?? {})) expect(compose.services).toHaveProperty(name);
  for (const volume of service.volumes ?? []) {
    const [source = '', , mode] = volume.split(':');
    if (!source.startsWith('.')) expect(compose.volumes).toHaveProperty(source);
    else expect([existsSync(join(folder, source)), mode]).toEqual([true, 'ro']);
  }
  const networks = Array.isArray(service.networks) ? service.networks : Object.keys(service.networks);
  for (const name of networks) expect(compose.networks).toHaveProperty(name);
  const { build } = service;
  if (build !== undefined) expect(existsSync(resolve(folder, build.context, build.dockerfile))).toBe(true);
});

test('only this machine reaches the ports, each of which is given once', () => {
  const ports = services.flatMap(([, { ports: given = [] }]) => given);
  expect(ports.every((port) => /^127\.0\.0\.1:\d+:808[013]$/.test(port))).toBe(true);
  expect(new Set(ports.map((port) => port.split(':')[1])).size).toBe(6);
});

test('the addresses that are joined are those of the nodes', () => {
  const nodes = named('valkey-').map(([, service]) => `${addressOf(service)}:6379`);
  expect(compose.services.cluster?.command).toEqual(nodes);
  expect(Object.keys(compose.services.cluster?.depends_on ?? {})).toEqual(named('valkey-').map(([name]) => name));
});

describe('comporta.yaml', () => {
  const content = loadFolder({ 'comporta.yaml': read('comporta.yaml') });

  it('may run, with nodes that there are as its store', () => {
    if ('problems' in content) throw new Error(JSON.stringify(content.problems));
    const hosts = content.config.store.url.replace('redis-cluster://', '').split(',');
    for (const host of hosts) expect(compose.services).toHaveProperty(host.split(':')[0] ?? '');
    expect(content.config.gateway?.routes.map(({ upstream }) => upstream)).toEqual(['http://web:3000']);
  });

  it('listens where the ports lead and health is asked', () => {
    if ('problems' in content) throw new Error(JSON.stringify(content.problems));
    expect(content.config.gateway?.listen).toEqual({ host: '0.0.0.0', port: 8080 });
    expect(content.config.api?.listen).toEqual({ host: '0.0.0.0', port: 8081 });
    for (const [, { healthcheck }] of named('comporta-')) {
      expect(healthcheck?.test.join(' ')).toContain('127.0.0.1:8081/readyz');
    }
  });

  it('drains within the time that it is given', () => {
    if ('problems' in content) throw new Error(JSON.stringify(content.problems));
    for (const [, { stop_grace_period: period }] of named('comporta-')) {
      const { drainDelay = 0, drainTime = 0 } = content.config.gateway ?? {};
      expect(Number.parseInt(period ?? '', 10) * 1000).toBeGreaterThan(drainDelay + drainTime);
    }
  });
});

test('the service behind them may run, and listens where the gateways send requests', () => {
  const content = loadFolder({ 'comporta.yaml': read('echo.yaml') });
  if ('problems' in content) throw new Error(JSON.stringify(content.problems));
  expect(content.config.gateway?.listen).toEqual({ host: '0.0.0.0', port: 3000 });
});

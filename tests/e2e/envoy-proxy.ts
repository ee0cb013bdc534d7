import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { findEnvoy } from '../../scripts/lib/find-envoy.mjs';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';
import { root } from './cli-support.js';

export interface EnvoyPorts {
  /** The service behind it. */
  readonly upstream: number;
  /** The rate limit service's instances. */
  readonly ratelimit: readonly number[];
  /** Their decision API, where Envoy is to spread calls over it too. */
  readonly api?: readonly number[];
}

export interface EnvoySettings {
  /** How long Envoy waits for an answer. */
  readonly timeout?: string;
  /** How often it asks for health. */
  readonly healthEvery?: string;
}

export interface EnvoyProxy {
  /** Lets requests pass when it gets no answer. */
  readonly open: string;
  /** Refuses them then. */
  readonly deny: string;
  /** Leads to the decision API. */
  readonly api: string;
  /** How often each instance was asked, by port. */
  asked(): Promise<ReadonlyMap<number, number>>;
  /** A figure of Envoy's own, 0 where it has none. */
  figure(name: string): Promise<number>;
  stop(): Promise<void>;
}

/** Fields of Envoy's configuration, as deep as they go. */
type Fields = { [name: string]: Fields } & Fields[];

const at = (port: number): object => ({ socket_address: { address: '127.0.0.1', port_value: port } });

const clusterAt = (name: string, ports: readonly number[]): object => ({
  cluster_name: name,
  endpoints: [{ lb_endpoints: ports.map((port) => ({ endpoint: { address: at(port) } })) }],
});

/** The example's configuration, on other ports and with more listeners; waits longer, for machines that are busy. */
function configOf(ports: EnvoyPorts, { timeout = '5s', healthEvery }: EnvoySettings, own: OwnPorts): object {
  const read = () => parse(readFileSync(join(root, 'examples/envoy/envoy.yaml'), 'utf8')) as Fields;
  const listener = (port: number, isDenying: boolean): Fields => {
    const [one] = read().static_resources?.listeners ?? [];
    const manager = one?.filter_chains?.[0]?.filters?.[0]?.typed_config;
    Object.assign(manager?.http_filters?.[0]?.typed_config ?? {}, { failure_mode_deny: isDenying, timeout });
    return { ...one, name: `port-${port}`, address: at(port) } as unknown as Fields;
  };
  const clusters: object[] = [...(read().static_resources?.clusters ?? [])];
  const endpointsOf: Record<string, readonly number[]> = { upstream: [ports.upstream], ratelimit: ports.ratelimit };
  const times = healthEvery === undefined ? {} : { interval: healthEvery, no_traffic_interval: healthEvery };
  for (const cluster of clusters as { name: string; health_checks?: object[] }[]) {
    Object.assign(cluster, { load_assignment: clusterAt(cluster.name, endpointsOf[cluster.name] ?? []) });
    for (const check of cluster.health_checks ?? []) Object.assign(check, times);
  }
  const listeners = [listener(own.open, false), listener(own.deny, true)];
  if (ports.api !== undefined) {
    listeners.push(toApi(listener(own.api, true)));
    clusters.push(apiCluster(ports.api, times));
  }
  return { admin: { address: at(own.admin) }, static_resources: { listeners, clusters } };
}

/** Sends everything to the API; what never reached an instance goes to another. */
function toApi(listener: Fields): Fields {
  const manager = listener.filter_chains?.[0]?.filters?.[0]?.typed_config;
  const [router] = (manager?.http_filters ?? []).slice(-1);
  const route = { cluster: 'api', retry_policy: { retry_on: 'connect-failure,refused-stream', num_retries: 2 } };
  const hosts = [{ name: 'all', domains: ['*'], routes: [{ match: { prefix: '/' }, route }] }];
  Object.assign(manager ?? {}, { http_filters: [router], route_config: { virtual_hosts: hosts } });
  return listener;
}

const apiCluster = (ports: readonly number[], times: object): object => ({
  name: 'api',
  connect_timeout: '0.25s',
  health_checks: [
    {
      ...{ timeout: '1s', interval: '1s', no_traffic_interval: '1s', unhealthy_threshold: 1, healthy_threshold: 1 },
      ...times,
      http_health_check: { path: '/readyz' },
    },
  ],
  load_assignment: clusterAt('api', ports),
});

/** Where Envoy itself listens. */
interface OwnPorts {
  readonly open: number;
  readonly deny: number;
  readonly api: number;
  readonly admin: number;
}

/** A real Envoy in front of an upstream, asking the instances; resolves when it listens and they are healthy. */
export async function startEnvoy(folder: string, ports: EnvoyPorts, settings: EnvoySettings = {}): Promise<EnvoyProxy> {
  const own = { open: await freePort(), deny: await freePort(), api: await freePort(), admin: await freePort() };
  const file = join(folder, 'envoy.json');
  writeFileSync(file, JSON.stringify(configOf(ports, settings, own)));
  const args = ['-c', file, '--use-dynamic-base-id', '--concurrency', '1', '--log-level', 'error'];
  const child = spawn(findEnvoy() ?? 'envoy', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  watch(child);
  let words = '';
  child.stderr.on('data', (chunk) => {
    words += chunk;
  });
  const ended = once(child, 'close');
  const tell = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${own.admin}${path}`)).text();
  const asked = async (): Promise<ReadonlyMap<number, number>> => {
    const found = (await tell('/clusters')).matchAll(/^ratelimit::127\.0\.0\.1:(\d+)::rq_total::(\d+)$/gm);
    return new Map([...found].map(([, port, count]) => [Number(port), Number(count)]));
  };
  const isHealthy = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(words);
    const healthy = (await tell('/clusters')).match(/^(ratelimit|api)::[^:]+:\d+::health_flags::healthy$/gm) ?? [];
    return healthy.length === ports.ratelimit.length + (ports.api?.length ?? 0);
  };
  await until(isHealthy, { what: `Envoy with healthy instances; it said: ${words}` });
  return {
    open: `http://127.0.0.1:${own.open}/`,
    deny: `http://127.0.0.1:${own.deny}/`,
    api: `http://127.0.0.1:${own.api}`,
    asked,
    figure: async (name) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(await tell('/stats'))?.[1] ?? 0),
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

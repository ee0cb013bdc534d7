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
}

export interface EnvoyProxy {
  /** Lets requests pass when it gets no answer. */
  readonly open: string;
  /** Refuses them then. */
  readonly deny: string;
  /** How often each instance was asked, by port. */
  asked(): Promise<ReadonlyMap<number, number>>;
  /** A figure of Envoy's own, 0 where it has none. */
  figure(name: string): Promise<number>;
  stop(): Promise<void>;
}

/** Fields of Envoy's configuration, as deep as they go. */
type Fields = { [name: string]: Fields } & Fields[];

const at = (port: number): object => ({ socket_address: { address: '127.0.0.1', port_value: port } });

/** The example's configuration, on other ports and with two listeners; waits longer, for machines that are busy. */
function configOf(ports: EnvoyPorts, open: number, deny: number, admin: number): object {
  const read = () => parse(readFileSync(join(root, 'examples/envoy/envoy.yaml'), 'utf8')) as Fields;
  const listener = (port: number, isDenying: boolean): object => {
    const [one] = read().static_resources?.listeners ?? [];
    const manager = one?.filter_chains?.[0]?.filters?.[0]?.typed_config;
    Object.assign(manager?.http_filters?.[0]?.typed_config ?? {}, { failure_mode_deny: isDenying, timeout: '5s' });
    return { ...one, name: `port-${port}`, address: at(port) };
  };
  const clusters = read().static_resources?.clusters ?? [];
  const endpointsOf: Record<string, readonly number[]> = { upstream: [ports.upstream], ratelimit: ports.ratelimit };
  for (const cluster of clusters) {
    const name = String(cluster.name);
    const endpoints = endpointsOf[name]?.map((port) => ({ endpoint: { address: at(port) } }));
    Object.assign(cluster, { load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: endpoints }] } });
  }
  return {
    admin: { address: at(admin) },
    static_resources: { listeners: [listener(open, false), listener(deny, true)], clusters },
  };
}

/** A real Envoy in front of an upstream, asking the instances; resolves when it listens and they are healthy. */
export async function startEnvoy(folder: string, ports: EnvoyPorts): Promise<EnvoyProxy> {
  const [open, deny, admin] = [await freePort(), await freePort(), await freePort()];
  const file = join(folder, 'envoy.json');
  writeFileSync(file, JSON.stringify(configOf(ports, open, deny, admin)));
  const args = ['-c', file, '--use-dynamic-base-id', '--concurrency', '1', '--log-level', 'error'];
  const child = spawn(findEnvoy() ?? 'envoy', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  watch(child);
  let words = '';
  child.stderr.on('data', (chunk) => {
    words += chunk;
  });
  const ended = once(child, 'close');
  const tell = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${admin}${path}`)).text();
  const asked = async (): Promise<ReadonlyMap<number, number>> => {
    const found = (await tell('/clusters')).matchAll(/^ratelimit::127\.0\.0\.1:(\d+)::rq_total::(\d+)$/gm);
    return new Map([...found].map(([, port, count]) => [Number(port), Number(count)]));
  };
  const isHealthy = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(words);
    const healthy = (await tell('/clusters')).match(/^ratelimit::[^:]+:\d+::health_flags::healthy$/gm) ?? [];
    return healthy.length === ports.ratelimit.length;
  };
  await until(isHealthy, { what: `Envoy with healthy instances; it said: ${words}` });
  return {
    open: `http://127.0.0.1:${open}/`,
    deny: `http://127.0.0.1:${deny}/`,
    asked,
    figure: async (name) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(await tell('/stats'))?.[1] ?? 0),
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

import type { Store } from 'comporta';
import {
  glidePreset,
  type IoredisClusterLike,
  type IoredisLike,
  ioredisClusterPreset,
  ioredisPreset,
  type NodeRedisClusterLike,
  type NodeRedisLike,
  nodeRedisClusterPreset,
  nodeRedisPreset,
  redisStore,
  type SupportedClient,
} from 'comporta/redis';
import { loadClient } from '../../clients/load.js';
import { sleep } from '../../support/wait.js';

export type Topology = 'single' | 'cluster';

export interface Place {
  readonly ports: readonly number[];
  /** From the port of each node of a cluster to the one to connect to. */
  readonly portOf: Readonly<Record<number, number>>;
}

export interface Opened {
  readonly store: Store;
  end(): unknown;
}

type Open = (place: Place, topology: Topology) => Promise<Opened>;
export interface Kind {
  readonly name: string;
  readonly topologies: readonly Topology[];
  readonly open: Open;
}

const host = '127.0.0.1';
const both: readonly Topology[] = ['single', 'cluster'];

function own(client: object, end: () => unknown): Opened {
  (client as { on?(event: string, listener: () => void): void }).on?.('error', () => undefined);
  return { store: redisStore(client as SupportedClient, { onWarning: () => undefined }), end };
}

const natMapOf = ({ portOf }: Place) =>
  Object.fromEntries(Object.entries(portOf).map(([from, port]) => [`${host}:${from}`, { host, port }]));

const byUrl: Open = async ({ ports, portOf }, topology) => {
  if (topology === 'single') return { store: redisStore(`redis://${host}:${ports[0]}`), end: () => undefined };
  const natMap = (address: string) => `${host}:${portOf[Number(address.split(':')[1])]}`;
  const hosts = ports.map((port) => `${host}:${port}`).join();
  return { store: redisStore(`redis-cluster://${hosts}`, { natMap }), end: () => undefined };
};

interface IoredisModule {
  readonly Redis: new (options: object) => IoredisLike;
  readonly Cluster: new (nodes: readonly object[], options: object) => IoredisClusterLike;
}

/** Without the preset only with what keeps calls from being sent twice. */
function byIoredis(name: string, more: object = {}, preset = true): Open {
  return async (place, topology) => {
    const { Redis, Cluster } = (await import(name)) as IoredisModule;
    const at = place.ports.map((port) => ({ host, port }));
    const single = { ...(preset ? ioredisPreset : { autoResendUnfulfilledCommands: false }), ...more };
    if (topology === 'single') {
      const client = new Redis({ ...at[0], ...single });
      return own(client, () => client.disconnect());
    }
    const options = preset ? { ...ioredisClusterPreset, ...more } : { redisOptions: single };
    const client = new Cluster(at, { ...options, natMap: natMapOf(place) });
    return own(client, () => client.disconnect());
  };
}

interface NodeRedisModule {
  createClient(options: object): NodeRedisLike;
  createCluster(options: object): NodeRedisClusterLike & { connect(): Promise<unknown> };
}

/** `connectMs`: so long after the store is made, or, below 0, before. */
function byNodeRedis(name: string, { preset = true, connectMs = 0 } = {}): Open {
  return async (place, topology) => {
    const { createClient, createCluster } = (await import(name)) as NodeRedisModule;
    const urls = place.ports.map((port) => ({ url: `redis://${host}:${port}` }));
    const cluster = { ...(preset && nodeRedisClusterPreset), rootNodes: urls, nodeAddressMap: natMapOf(place) };
    const client =
      topology === 'single' ? createClient({ ...(preset && nodeRedisPreset), ...urls[0] }) : createCluster(cluster);
    client.on('error', () => undefined);
    let isEnded = false;
    // As an application does that is to start without Redis.
    const connect = async (): Promise<void> => {
      for (let isOpen = false; !isOpen && !isEnded; await sleep(100)) {
        isOpen = await client.connect().then(
          () => true,
          () => client.isOpen === true,
        );
      }
    };
    if (connectMs > 0) void sleep(connectMs).then(connect);
    else void connect();
    if (connectMs < 0) await sleep(-connectMs);
    return own(client, () => {
      isEnded = true;
      if (client.isOpen === true) client.destroy();
    });
  };
}

interface Glide {
  readonly Logger: { setLoggerConfig(level: 'off'): void };
  readonly GlideClient: { createClient(options: object): Promise<{ close(): void }> };
}

const byGlide: Open = async ({ ports }) => {
  const { GlideClient, Logger } = loadClient('@valkey/valkey-glide') as Glide;
  Logger.setLoggerConfig('off');
  const addresses = ports.map((port) => ({ host, port }));
  const client = await GlideClient.createClient({ ...glidePreset, addresses, requestTimeout: 200, lazyConnect: true });
  return own(client, () => client.close());
};

const ioredisKinds = [
  ['ioredis 6', 'ioredis'],
  ['ioredis 5', 'ioredis5'],
  ['iovalkey', 'iovalkey'],
] as const;
const nodeRedisKinds = [
  ['node-redis 6', 'redis'],
  ['node-redis 5', 'redis5'],
] as const;

/** Every client as its preset makes it, and in the other ways that people make and give it. */
export const kinds: readonly Kind[] = [
  { name: 'store URL', topologies: both, open: byUrl },
  ...ioredisKinds.flatMap(([name, module]) => [
    { name, topologies: both, open: byIoredis(module) },
    { name: `${name}, lazy`, topologies: both, open: byIoredis(module, { lazyConnect: true }) },
    { name: `${name}, no preset`, topologies: both, open: byIoredis(module, {}, false) },
    {
      name: `${name}, no ready check`,
      topologies: ['single'] as const,
      open: byIoredis(module, { enableReadyCheck: false }),
    },
  ]),
  ...nodeRedisKinds.flatMap(([name, module]) => [
    { name, topologies: both, open: byNodeRedis(module) },
    { name: `${name}, no preset`, topologies: both, open: byNodeRedis(module, { preset: false }) },
    { name: `${name}, connected late`, topologies: both, open: byNodeRedis(module, { connectMs: 300 }) },
    { name: `${name}, connecting`, topologies: both, open: byNodeRedis(module, { connectMs: -30 }) },
  ]),
  { name: 'GLIDE', topologies: ['single'], open: byGlide },
];

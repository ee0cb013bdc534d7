import type { Store } from 'comporta';
import {
  ioredisClusterPreset,
  ioredisPreset,
  nodeRedisClusterPreset,
  nodeRedisPreset,
  redisStore,
} from 'comporta/redis';
import type * as ioredis from 'ioredis';
import type * as redis from 'redis';
import { type Place, PRIMARY_NAME, type Topology } from './ground.js';

export const clientNames = ['store URL', 'ioredis 6', 'ioredis 5', 'node-redis 6', 'node-redis 5', 'iovalkey'] as const;
export type ClientName = (typeof clientNames)[number];

/** The package behind each client, for the versions in the table. */
export const packageOf: Readonly<Record<ClientName, string>> = {
  'store URL': 'redis',
  'ioredis 6': 'ioredis',
  'ioredis 5': 'ioredis5',
  'node-redis 6': 'redis',
  'node-redis 5': 'redis5',
  iovalkey: 'iovalkey',
};

export interface Opened {
  readonly store: Store;
  /** Ends the client, for those that are their user's to end. */
  end(): unknown;
}

type Opener = (place: Place) => Opened;
const host = '127.0.0.1';

/** Connects in the background. Only what can be had is called: see `cells.ts`. */
export async function open(client: ClientName, place: Place): Promise<Opened> {
  return (await openers[client]())[place.topology](place);
}

/** Loaded on demand: a process has one client, and all of them take long. */
const openers: Readonly<Record<ClientName, () => Promise<Readonly<Record<Topology, Opener>>>>> = {
  'store URL': async () => ({
    single: ({ ports }) => byUrl(`redis://${host}:${ports[0]}`),
    sentinel: ({ ports, natMap }) => byUrl(`redis-sentinel://${hosts(ports)}/${PRIMARY_NAME}`, natMap),
    cluster: ({ ports, natMap }) => byUrl(`redis-cluster://${hosts(ports)}`, natMap),
  }),
  'ioredis 6': async () => ofIoredis(await import('ioredis')),
  'ioredis 5': async () => ofIoredis((await import('ioredis5')) as unknown as IoredisModule),
  iovalkey: async () => ofIoredis((await import('iovalkey')) as unknown as IoredisModule),
  'node-redis 6': async () => ofNodeRedis(await import('redis')),
  'node-redis 5': async () => ofNodeRedis((await import('redis5')) as unknown as NodeRedisModule),
};

const hosts = (ports: readonly number[]): string => ports.map((port) => `${host}:${port}`).join(',');

function byUrl(url: string, natMap?: Place['natMap']): Opened {
  const store = redisStore(url, natMap && { natMap });
  return { store, end: () => undefined };
}

type IoredisModule = Pick<typeof ioredis, 'Redis' | 'Cluster'>;
type NodeRedisModule = Pick<typeof redis, 'createClient' | 'createCluster'>;

function ofIoredis({ Redis, Cluster }: IoredisModule): Record<Topology, Opener> {
  const opened = (client: ioredis.Redis | ioredis.Cluster): Opened => {
    client.on('error', () => undefined);
    return { store: redisStore(client), end: () => client.disconnect() };
  };
  const places = (ports: readonly number[]) => ports.map((port) => ({ host, port }));
  return {
    single: ({ ports }) => opened(new Redis({ host, port: ports[0] as number, ...ioredisPreset })),
    sentinel: ({ ports, natMap }) =>
      opened(new Redis({ sentinels: places(ports), name: PRIMARY_NAME, natMap: split(natMap), ...ioredisPreset })),
    cluster: ({ ports, natMap }) =>
      opened(new Cluster(places(ports), { ...ioredisClusterPreset, natMap: split(natMap) })),
  };
}

function ofNodeRedis({ createClient, createCluster }: NodeRedisModule): Record<Topology, Opener> {
  return {
    single: ({ ports }) => {
      const client = createClient({ url: `redis://${host}:${ports[0]}`, ...nodeRedisPreset });
      client.on('error', () => undefined);
      client.connect().catch(() => undefined);
      return { store: redisStore(client), end: () => client.destroy() };
    },
    sentinel: () => {
      throw new Error('redisStore takes no Sentinel client of node-redis');
    },
    cluster: ({ ports, natMap }) => {
      const rootNodes = ports.map((port) => ({ url: `redis://${host}:${port}` }));
      const cluster = createCluster({ rootNodes, ...nodeRedisClusterPreset, nodeAddressMap: split(natMap) });
      cluster.on('error', () => undefined);
      cluster.connect().catch(() => undefined);
      return { store: redisStore(cluster), end: () => cluster.destroy() };
    },
  };
}

function split(natMap: Place['natMap']): Record<string, { host: string; port: number }> {
  const to = (address: string) => ({ host, port: Number(address.slice(address.lastIndexOf(':') + 1)) });
  return Object.fromEntries(Object.entries(natMap).map(([from, address]) => [from, to(address)]));
}

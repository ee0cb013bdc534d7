import type { Store } from 'comporta';
import {
  ioredisClusterPreset,
  ioredisPreset,
  nodeRedisClusterPreset,
  nodeRedisPreset,
  redisStore,
} from 'comporta/redis';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';

/** A store on a client that is connecting, and how to end both. */
export interface Opened {
  readonly store: Store;
  close(): Promise<void>;
}

export interface Login {
  readonly username: string;
  readonly password: string;
}

/** A way to give a store its Redis: on one server, and on a cluster of which some ports are known. */
export interface ClientKind {
  readonly name: string;
  single(port: number, login?: Login): Opened;
  cluster(ports: readonly number[], login?: Login): Opened;
}

/** Every supported client: one line each. */
export const clients: readonly ClientKind[] = [
  {
    name: 'URL',
    single: (port, login) => byUrl('redis', [port], login),
    cluster: (ports, login) => byUrl('redis-cluster', ports, login),
  },
  { name: 'ioredis 6', single: (port, login) => byIoredis(port, login), cluster: byIoredisCluster },
  { name: 'ioredis 6 with RESP2', single: (port, login) => byIoredis(port, login, 2), cluster: byIoredisCluster },
  { name: 'node-redis 6', single: (port, login) => byNodeRedis(port, login), cluster: byNodeRedisCluster },
  {
    name: 'node-redis 6 with RESP2',
    single: (port, login) => byNodeRedis(port, login, 2),
    cluster: byNodeRedisCluster,
  },
];

const host = '127.0.0.1';

function byUrl(scheme: string, ports: readonly number[], login?: Login): Opened {
  const who = login === undefined ? '' : `${login.username}:${login.password}@`;
  const store = redisStore(`${scheme}://${who}${ports.map((port) => `${host}:${port}`).join(',')}`);
  return { store, close: () => store.close() };
}

function byIoredis(port: number, login?: Login, protocol: 2 | 3 = 3): Opened {
  const client = new Redis({ host, port, protocol, ...login, ...ioredisPreset });
  client.on('error', () => undefined);
  return { store: redisStore(client), close: async () => client.disconnect() };
}

function byIoredisCluster(ports: readonly number[], login?: Login): Opened {
  const redisOptions = { ...ioredisClusterPreset.redisOptions, ...login };
  const client = new Cluster(
    ports.map((port) => ({ host, port })),
    { ...ioredisClusterPreset, redisOptions },
  );
  client.on('error', () => undefined);
  return { store: redisStore(client), close: async () => client.disconnect() };
}

function byNodeRedis(port: number, login?: Login, RESP: 2 | 3 = 3): Opened {
  const client = createClient({ url: `redis://${host}:${port}`, RESP, ...login, ...nodeRedisPreset });
  client.on('error', () => undefined);
  client.connect().catch(() => undefined);
  return { store: redisStore(client), close: async () => client.destroy() };
}

function byNodeRedisCluster(ports: readonly number[], login?: Login): Opened {
  const rootNodes = ports.map((port) => ({ url: `redis://${host}:${port}` }));
  const defaults = { ...nodeRedisClusterPreset.defaults, ...login };
  const client = createCluster({ rootNodes, ...nodeRedisClusterPreset, defaults });
  client.on('error', () => undefined);
  client.connect().catch(() => undefined);
  return { store: redisStore(client), close: async () => client.destroy() };
}

import type { Store } from 'comporta';
import {
  type GlideClusterLike,
  type GlideLike,
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
} from 'comporta/redis';
import * as ioredis6 from 'ioredis';
import * as ioredis5 from 'ioredis5';
import * as iovalkey from 'iovalkey';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { loadClient } from '../clients/load.js';

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
  single(port: number, login?: Login): Opened | Promise<Opened>;
  cluster(ports: readonly number[], login?: Login): Opened | Promise<Opened>;
}

/** Every supported client: one line each. */
export const clients: readonly ClientKind[] = [
  {
    name: 'URL',
    single: (port, login) => byUrl('redis', [port], login),
    cluster: (ports, login) => byUrl('redis-cluster', ports, login),
  },
  { name: 'ioredis 6', ...byIoredis(ioredis6.Redis, ioredis6.Cluster) },
  {
    name: 'ioredis 6 with RESP2',
    ...byIoredis(ioredis6.Redis, ioredis6.Cluster, { protocol: 2 }),
  },
  { name: 'ioredis 5', ...byIoredis(ioredis5.Redis, ioredis5.Cluster) },
  { name: 'iovalkey', ...byIoredis(iovalkey.Redis, iovalkey.Cluster) },
  {
    name: 'node-redis 6',
    ...byNodeRedis(
      (options) => redis6.createClient(options),
      (options) => redis6.createCluster(options),
    ),
  },
  {
    name: 'node-redis 6 with RESP2',
    ...byNodeRedis(
      (options) => redis6.createClient(options),
      (options) => redis6.createCluster(options),
      { RESP: 2 },
    ),
  },
  {
    name: 'node-redis 5',
    ...byNodeRedis(
      (options) => redis5.createClient(options),
      (options) => redis5.createCluster(options),
    ),
  },
  {
    name: 'GLIDE',
    single: (port, login) => byGlide('single', [port], login),
    cluster: (...at) => byGlide('cluster', ...at),
  },
];

/** True when a client asks INFO, and ioredis of a cluster CLUSTER INFO, before it uses a connection. */
export const asksInfo = ({ name }: ClientKind): boolean => /^io(redis|valkey)|^GLIDE/.test(name);

const host = '127.0.0.1';

function byUrl(scheme: string, ports: readonly number[], login?: Login): Opened {
  const who = login === undefined ? '' : `${login.username}:${login.password}@`;
  const store = redisStore(`${scheme}://${who}${ports.map((port) => `${host}:${port}`).join(',')}`);
  return { store, close: () => store.close() };
}

type Ways = Pick<ClientKind, 'single' | 'cluster'>;

/** What the presets and a place make up: every package must take that as it is. */
type IoredisOptions = typeof ioredisPreset & { host: string; port: number };
type NodeRedisOptions = Omit<typeof nodeRedisPreset, 'socket'> & { url: string };
type NodeRedisClusterOptions = typeof nodeRedisClusterPreset & { rootNodes: { url: string }[] };

function byIoredis<Single extends IoredisLike, Many extends IoredisClusterLike>(
  Redis: new (options: IoredisOptions) => Single,
  Cluster: new (nodes: { host: string; port: number }[], options: typeof ioredisClusterPreset) => Many,
  options: { readonly protocol?: 2 } = {},
): Ways {
  return {
    single: (port, login) => {
      const client = new Redis({ host, port, ...options, ...login, ...ioredisPreset });
      client.on('error', () => undefined);
      return { store: redisStore(client), close: async () => client.disconnect() };
    },
    cluster: (ports, login) => {
      const redisOptions = { ...ioredisClusterPreset.redisOptions, ...options, ...login };
      const nodes = ports.map((port) => ({ host, port }));
      const client = new Cluster(nodes, { ...ioredisClusterPreset, redisOptions });
      client.on('error', () => undefined);
      return { store: redisStore(client), close: async () => client.disconnect() };
    },
  };
}

function byNodeRedis<Single extends NodeRedisLike, Many extends NodeRedisClusterLike & Pick<NodeRedisLike, 'connect'>>(
  createClient: (options: NodeRedisOptions) => Single,
  createCluster: (options: NodeRedisClusterOptions) => Many,
  options: { readonly RESP?: 2 } = {},
): Ways {
  return {
    single: (port, login) => {
      const client = createClient({ url: `redis://${host}:${port}`, ...options, ...login, ...nodeRedisPreset });
      client.on('error', () => undefined);
      client.connect().catch(() => undefined);
      return { store: redisStore(client), close: async () => client.destroy() };
    },
    cluster: (ports, login) => {
      const rootNodes = ports.map((port) => ({ url: `redis://${host}:${port}` }));
      const defaults = { ...nodeRedisClusterPreset.defaults, ...login };
      const client = createCluster({ rootNodes, ...options, ...nodeRedisClusterPreset, defaults });
      client.on('error', () => undefined);
      client.connect().catch(() => undefined);
      return { store: redisStore(client), close: async () => client.destroy() };
    },
  };
}

type GlideOptions = typeof glidePreset & {
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  readonly credentials?: Login;
};

/** The parts of `@valkey/valkey-glide` used here; `tests/clients/types.ts` holds its own types against ours. */
interface Glide {
  readonly Logger: { setLoggerConfig(level: 'off'): void };
  readonly GlideClient: { createClient(options: GlideOptions): Promise<GlideLike> };
  readonly GlideClusterClient: { createClient(options: GlideOptions): Promise<GlideClusterLike> };
}

async function byGlide(kind: 'single' | 'cluster', ports: readonly number[], credentials?: Login): Promise<Opened> {
  const { GlideClient, GlideClusterClient, Logger } = loadClient('@valkey/valkey-glide') as Glide;
  // Otherwise it writes a line for each script that a server has forgotten.
  Logger.setLoggerConfig('off');
  const made = kind === 'single' ? GlideClient : GlideClusterClient;
  const addresses = ports.map((port) => ({ host, port }));
  // The suites wait longer than decisions do by default: for thousands of calls at once, on a busy machine.
  const options = { ...glidePreset, requestTimeout: 1000, ...(credentials && { credentials }) };
  const client = await made.createClient({ addresses, ...options });
  return { store: redisStore(client, { onWarning: () => undefined }), close: async () => client.close() };
}

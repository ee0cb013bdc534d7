import { steadyMs } from '../core/time.js';
import { steadyBackOff } from './back-off.js';
import type { RedisClient, RedisNode } from './client.js';
import { Connecting, endOnConnect } from './node-redis-connecting.js';

/** What this package needs of a node-redis client. */
export interface NodeRedisLike {
  readonly isReady: boolean;
  readonly isOpen?: boolean;
  readonly options?: object | undefined;
  sendCommand(args: readonly string[], options: typeof PLAIN): Promise<unknown>;
  on(event: string, listener: (error: Error) => void): unknown;
  connect(): Promise<unknown>;
  destroy(): void;
  unref?(): void;
}

interface ShardLike {
  readonly address: string;
  client?: NodeRedisLike | undefined;
}

/** What this package needs of a node-redis cluster client. */
export interface NodeRedisClusterLike {
  readonly slots: readonly { readonly master: ShardLike }[];
  readonly nodeByAddress: ReadonlyMap<string, ShardLike>;
  nodeClient(node: never): Promise<unknown>;
  readonly _slots?: { rediscover(startWith: never, excludedAddresses: ReadonlySet<string>): Promise<void> };
  on(event: string, listener: (error: Error) => void): unknown;
  readonly isOpen?: boolean;
  destroy(): void;
}

/**
 * Options of one connection: fails at once instead of queueing. The client's own command timer is
 * off: it costs more than the command and does not cover a command that was written.
 */
export interface NodeRedisPreset {
  readonly disableOfflineQueue: true;
  readonly commandsQueueMaxLength: number;
  readonly maintNotifications: 'disabled';
  readonly commandOptions: { readonly timeout: 0 };
  readonly pingInterval?: number;
  readonly socket: {
    readonly socketTimeout?: number;
    readonly connectTimeout: number;
    readonly keepAlive: true;
    readonly keepAliveInitialDelay: number;
    readonly noDelay: true;
    readonly reconnectStrategy: (attempt: number) => number;
  };
}

/** For `createClient({ url, ...nodeRedisPreset })`. */
export const nodeRedisPreset: NodeRedisPreset = {
  disableOfflineQueue: true,
  commandsQueueMaxLength: 20_000,
  maintNotifications: 'disabled',
  commandOptions: { timeout: 0 },
  // A new one each time: the client writes host, port and TLS into the object it is given.
  get socket() {
    return {
      connectTimeout: 1000,
      keepAlive: true as const,
      keepAliveInitialDelay: 5000,
      noDelay: true as const,
      reconnectStrategy: steadyBackOff(),
    };
  },
};

/**
 * A connection to a node of a cluster ends when nothing comes or goes for a while, which the ping prevents. That
 * is for the short ones on which the client asks for the slot map: it would wait for ever for a node that took
 * the question and says nothing, and ask no other.
 */
const clusterNodePreset: NodeRedisPreset = {
  ...nodeRedisPreset,
  pingInterval: 500,
  get socket() {
    return { ...nodeRedisPreset.socket, socketTimeout: 1500 };
  },
};

/** Options of a cluster. */
export interface NodeRedisClusterPreset {
  readonly maxCommandRedirections: number;
  readonly topologyRefreshOnReconnectionAttemptStrategy: number;
  readonly commandOptions: { readonly timeout: 0 };
  readonly defaults: NodeRedisPreset;
}

/** For `createCluster({ rootNodes, ...nodeRedisClusterPreset })`. */
export const nodeRedisClusterPreset: NodeRedisClusterPreset = {
  maxCommandRedirections: 3,
  topologyRefreshOnReconnectionAttemptStrategy: 200,
  commandOptions: { timeout: 0 },
  defaults: clusterNodePreset,
};

/** Whatever the client's settings: its timer per command costs more than the command, and replies stay as they are. */
const PLAIN = { timeout: 0, typeMapping: {} } as const;

/** A single node-redis connection as a {@link RedisClient}. */
export function fromNodeRedis(client: NodeRedisLike): RedisClient {
  const connection = new Connecting(client);
  const node: RedisNode = {
    address: 'redis',
    isReady: () => client.isReady,
    send: (command) => client.sendCommand(command, PLAIN),
    reconnect: () => connection.restart(),
  };
  return {
    isCluster: false,
    nodeOf: () => node,
    nodeAt: () => node,
    refresh: () => undefined,
    warnings: warningsFor(client.options ?? {}),
    lastError: watchErrors(client),
    close: async () => {
      connection.stop();
      endOnConnect(client);
      if (client.isOpen !== false) client.destroy();
    },
  };
}

/** A node-redis cluster client as a {@link RedisClient}. */
export function fromNodeRedisCluster(cluster: NodeRedisClusterLike): RedisClient {
  const nodes = new WeakMap<ShardLike, RedisNode>();
  const nodeFor = (shard: ShardLike | undefined): RedisNode | undefined => {
    if (shard === undefined) return undefined;
    const known = nodes.get(shard) ?? toNode(cluster, shard);
    nodes.set(shard, known);
    return known;
  };
  let refreshing = false;
  let refreshedAtMs = 0;
  return {
    isCluster: true,
    nodeOf: (slot) => nodeFor(cluster.slots[slot]?.master),
    nodeAt: (address) => nodeFor(cluster.nodeByAddress.get(address)),
    refresh: (failing) => {
      // Before the first map the client is asking anyway.
      if (cluster.nodeByAddress.size === 0) return;
      if (refreshing) {
        if (steadyMs() - refreshedAtMs > MAP_MAX_MS) giveUpNew(cluster);
        return;
      }
      refreshing = true;
      refreshedAtMs = steadyMs();
      const done = () => {
        refreshing = false;
        // Its owner closed it meanwhile: version 5 makes new connections all the same.
        if (cluster.isOpen === false) cluster.destroy();
      };
      // The client has no public way to ask for a new map: without this it reads one only after MOVED.
      const excluded = new Set(failing === undefined ? [] : [failing]);
      const refreshed = cluster._slots?.rediscover(whomToAsk(cluster, failing) as never, excluded);
      (refreshed ?? Promise.resolve()).then(done, done).catch(() => undefined);
    },
    warnings: [],
    lastError: watchErrors(cluster),
    close: async () => {
      const end = () => {
        for (const { client } of cluster.nodeByAddress.values()) if (client !== undefined) endOnConnect(client);
        cluster.destroy();
      };
      // A map that was asked for before comes back after, and brings new connections.
      cluster.on('node-connect', end);
      end();
    },
  };
}

/** So long a new map may take, asking several nodes and connecting to those that are new included. */
const MAP_MAX_MS = 1500;

/** A map counts as asked for until all its nodes are connected to: with one out of reach it would be the last. */
function giveUpNew(cluster: NodeRedisClusterLike): void {
  for (const shard of cluster.nodeByAddress.values()) if (shard.client?.isReady === false) forget(shard);
}

/** The next question to the cluster makes a new one. */
function forget(shard: ShardLike): void {
  const { client } = shard;
  shard.client = undefined;
  // Version 5 throws for one that has given up.
  if (client === undefined || client.isOpen === false) return;
  endOnConnect(client);
  client.destroy();
}

/** Version 5 asks only who is named here, then the root nodes; version 6 then asks all that it knows. */
function whomToAsk(cluster: NodeRedisClusterLike, failing: string | undefined): object | undefined {
  const shards = [...cluster.nodeByAddress.values()].filter(({ address }) => address !== failing);
  const ready = shards.find(({ client }) => client?.isReady === true)?.client;
  if (ready !== undefined || cluster._slots?.rediscover.length !== 1) return ready;
  const { _options } = cluster as { readonly _options?: { readonly rootNodes: readonly object[] } };
  return { options: { ..._options?.rootNodes[0] } };
}

function toNode(cluster: NodeRedisClusterLike, shard: ShardLike): RedisNode {
  return {
    address: shard.address,
    isReady: () => {
      if (shard.client === undefined) cluster.nodeClient(shard as never).catch(() => undefined);
      return shard.client?.isReady === true;
    },
    send: (command) => (shard.client as NodeRedisLike).sendCommand(command, PLAIN),
    reconnect: () => forget(shard),
  };
}

/** A cluster client makes the connections to its nodes anew in any case. */
function warningsFor({ socket }: { readonly socket?: object }): string[] {
  const { reconnectStrategy, socketTimeout } = (socket ?? {}) as {
    readonly reconnectStrategy?: unknown;
    readonly socketTimeout?: number;
  };
  if (reconnectStrategy === false) {
    return ['node-redis: reconnectStrategy is false, so that the first lost connection is the last; leave it out'];
  }
  if (reconnectStrategy !== undefined || !socketTimeout) return [];
  return [
    'node-redis: socketTimeout is set without a reconnectStrategy, so that the client ends for good when it was ' +
      'quiet for so long; set one, as nodeRedisPreset does',
  ];
}

const NOT_OPEN = 'the client is not open: its connect() was not called or failed, or it is closed';

function watchErrors(source: {
  readonly isOpen?: boolean;
  on(event: string, listener: (error: Error) => void): unknown;
}): () => string | undefined {
  let last: string | undefined;
  // What an earlier outage was about explains no later one.
  source.on('ready', () => {
    last = undefined;
  });
  const note = (error: Error) => {
    last = error?.message ?? String(error);
  };
  source.on('error', note);
  source.on('node-error', note);
  return () => last ?? (source.isOpen === false ? NOT_OPEN : undefined);
}

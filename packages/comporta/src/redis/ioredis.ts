import { ComportaError } from '../core/errors.js';
import { nextTurn, systemClock } from '../core/time.js';
import type { RedisClient, RedisNode } from './client.js';

/** A stream that can keep back what is written, to write it in one go. */
interface Corkable {
  readonly destroyed: boolean;
  cork(): void;
  uncork(): void;
}

/** What this package needs of an ioredis (or iovalkey) connection. */
export interface IoredisLike {
  readonly status: string;
  readonly options: object;
  /** Its socket, while there is one. */
  readonly stream?: Corkable | undefined;
  call(command: string, ...args: string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  on(event: string, listener: (error: Error) => void): unknown;
  disconnect(reconnect?: boolean): void;
}

/** What this package needs of an ioredis `Cluster`. */
export interface IoredisClusterLike {
  readonly isCluster: boolean;
  readonly status: string;
  readonly slots: string[][];
  nodes(role?: 'all' | 'master' | 'slave'): readonly IoredisLike[];
  connect(): Promise<unknown>;
  refreshSlotsCache(callback?: (error?: Error | null) => void): void;
  on(event: string, listener: () => void): unknown;
  disconnect(): void;
}

/** A single ioredis or iovalkey connection as a {@link RedisClient}. */
export function fromIoredis(redis: IoredisLike): RedisClient {
  assertUsable(redis, redis.options);
  redis.on('ready', () => denyReady(redis));
  if (denyReady(redis)) redis.connect().catch(() => undefined);
  const node = toNode(redis, 'redis');
  const lastError = watchErrors(redis);
  return {
    isCluster: false,
    nodeOf: () => node,
    nodeAt: () => node,
    refresh: () => undefined,
    warnings: warningsFor(redis.options),
    lastError,
    close: async () => redis.disconnect(),
  };
}

/**
 * Version 5 without a ready check calls a connection ready that ended during the greeting, and then does not make the
 * next, as it had begun to. True where that was so.
 */
function denyReady(redis: IoredisLike): boolean {
  if (redis.status !== 'ready' || redis.stream?.destroyed !== true) return false;
  (redis as { status: string }).status = 'reconnecting';
  return true;
}

/** An ioredis or iovalkey `Cluster` as a {@link RedisClient}. */
export function fromIoredisCluster(cluster: IoredisClusterLike): RedisClient {
  const { options } = cluster as { readonly options?: { readonly redisOptions?: object } };
  assertUsable(cluster, options, options?.redisOptions);
  let nodes = new Map<string, RedisNode>();
  // One node per connection, so that what is known of a connection outlives a new slot map.
  const made = new WeakMap<IoredisLike, RedisNode>();
  const nodeFor = (redis: IoredisLike): RedisNode => {
    const node = made.get(redis) ?? { ...toNode(redis, addressOf(redis)), send: inOneWrite(redis) };
    made.set(redis, node);
    return node;
  };
  const read = () => {
    nodes = new Map(cluster.nodes('all').map((redis) => [addressOf(redis), nodeFor(redis)]));
  };
  for (const event of ['+node', '-node', 'refresh', 'ready']) cluster.on(event, read);
  read();
  cluster.on('end', () => stopRefreshing(cluster));
  let refreshing = false;
  return {
    isCluster: true,
    nodeOf: (slot) => {
      if (cluster.status === 'wait') cluster.connect().catch(() => undefined);
      return nodes.get(cluster.slots[slot]?.[0] ?? '');
    },
    nodeAt: (address) => nodes.get(address) ?? nodes.get(mapped(cluster, address)),
    refresh: () => {
      if (refreshing) return;
      refreshing = true;
      cluster.refreshSlotsCache(() => {
        refreshing = false;
      });
    },
    // Connections to nodes have no retryStrategy on purpose: the Cluster makes the next.
    warnings: warningsFor({ ...options?.redisOptions, retryStrategy: undefined }),
    lastError: watchErrors(cluster as unknown as IoredisLike),
    close: async () => cluster.disconnect(),
  };
}

/** How often an ended Cluster that still asks for its map is looked at. */
const LOOK_EVERY_MS = 20;

/** Ended while it asks for the map, a Cluster plans the next question all the same, and so on for ever. */
function stopRefreshing(cluster: IoredisClusterLike): void {
  const inside = cluster as { readonly isRefreshing?: boolean; clearNodesRefreshInterval?(): void };
  if (!CLOSED.has(cluster.status)) return;
  inside.clearNodesRefreshInterval?.();
  if (inside.isRefreshing === true) systemClock.startTimer(LOOK_EVERY_MS, () => stopRefreshing(cluster));
}

interface Standing {
  readonly status: string;
  /** Version 6 says `subscriber` only where that bars other commands. */
  readonly mode?: unknown;
}

const CLOSED: ReadonlySet<string> = new Set(['disconnecting', 'close', 'end']);

/** Throws for what would make every decision fail, or count where no other process looks. */
function assertUsable({ status, mode }: Standing, ...all: readonly (object | undefined)[]): void {
  const fault = (message: string) => new ComportaError('ERR_CLIENT', `redisStore: ${message}`, 'store');
  if (CLOSED.has(status)) throw fault('the ioredis client is closed');
  if (mode === 'monitor' || mode === 'subscriber') {
    throw fault(`the ioredis client is in ${mode} mode, which takes no other commands; use client.duplicate()`);
  }
  if (all.some((options) => (options as { readonly keyPrefix?: unknown } | undefined)?.keyPrefix)) {
    throw fault(
      'keyPrefix of ioredis renames keys, so that other clients and the command line count elsewhere; ' +
        "use another client without it, such as client.duplicate({ keyPrefix: '' }), and the store's own keyPrefix",
    );
  }
}

function toNode(redis: IoredisLike, address: string): RedisNode {
  return {
    address,
    isReady: () => {
      if (redis.status === 'wait') redis.connect().catch(() => undefined);
      return redis.status === 'ready';
    },
    send: ([name = '', ...args]) => redis.call(name, ...args),
    reconnect: () => {
      // While it asks Sentinels where to go, `disconnect` would end it for good; then and between attempts it goes on
      // by itself.
      if (redis.stream?.destroyed === false) redis.disconnect(true);
    },
  };
}

/**
 * The client writes each command by itself, which costs more than all else that it does for one. Here the first of a
 * turn goes at once, unless in the last turn there were several, and the others in one write at its end. On a cluster
 * only: on one server decisions for many subjects go in one call, and the server works at the first such while the
 * next is made.
 */
function inOneWrite(redis: IoredisLike): RedisNode['send'] {
  let sent = 0;
  let kept = 2;
  let corked: Corkable | undefined;
  const finish = () => {
    corked?.uncork();
    corked = undefined;
    kept = sent > 1 ? 1 : 2;
    sent = 0;
  };
  return ([name = '', ...args]) => {
    sent++;
    if (sent === 1) void nextTurn().then(finish);
    if (sent === kept) {
      corked = redis.stream;
      corked?.cork();
    }
    return redis.call(name, ...args);
  };
}

function addressOf(redis: IoredisLike): string {
  const { host, port } = redis.options as { host?: string; port?: number };
  return `${host}:${port}`;
}

/** Where an address of MOVED or ASK leads by the client's own `natMap`. */
function mapped(cluster: IoredisClusterLike, address: string): string {
  type Place = { readonly host: string; readonly port: number } | null | undefined;
  type NatMap = Readonly<Record<string, Place>> | ((address: string) => Place);
  const natMap = (cluster as { readonly options?: { readonly natMap?: NatMap } }).options?.natMap;
  const place = typeof natMap === 'function' ? natMap(address) : natMap?.[address];
  return place ? `${place.host}:${place.port}` : address;
}

function watchErrors(source: IoredisLike): () => string | undefined {
  let last: string | undefined;
  source.on('error', (error: Error) => {
    last = error.message;
  });
  return () => last ?? (CLOSED.has(source.status) ? 'the client is closed' : undefined);
}

function warningsFor(given: object): string[] {
  const options = given as {
    readonly autoResendUnfulfilledCommands?: boolean;
    readonly enableAutoPipelining?: boolean;
    readonly retryStrategy?: unknown;
    readonly sentinels?: unknown;
    readonly sentinelCommandTimeout?: number;
  };
  const warnings: string[] = [];
  if (options.autoResendUnfulfilledCommands !== false) {
    warnings.push(
      'ioredis: autoResendUnfulfilledCommands is on, so a lost connection can charge a request twice; set it to false',
    );
  }
  if (options.enableAutoPipelining === true) {
    warnings.push(
      'ioredis: enableAutoPipelining makes calls wait for one another behind a slow server; set it to false',
    );
  }
  if (options.retryStrategy === null || options.retryStrategy === false) {
    warnings.push(
      'ioredis: retryStrategy is switched off, so that the first lost connection is the last; leave it out',
    );
  }
  if (options.sentinels && !options.sentinelCommandTimeout) {
    warnings.push(
      'ioredis: sentinelCommandTimeout is not set, so a Sentinel that takes a question and answers nothing is waited ' +
        'for without end; set it to 1000',
    );
  }
  return warnings;
}

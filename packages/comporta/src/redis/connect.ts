import { ComportaError } from '../core/errors.js';
import type { Clock } from '../core/time.js';
import type { RedisClient } from './client.js';
import { type ConnectOptions, checkConnectOptions, type HostPort, mapperOf } from './connect-options.js';
import {
  fromNodeRedis,
  fromNodeRedisCluster,
  type NodeRedisClusterLike,
  nodeRedisClusterPreset,
  nodeRedisPreset,
} from './node-redis.js';
import { type Connectable, followSentinels } from './sentinel.js';
import { CONNECTING } from './starting.js';
import { type Address, parseStoreUrl } from './url.js';
import { refuseOnWorkers } from './workers.js';

/** The parts of the `redis` package used here, loaded only when a store is made from a URL. */
interface NodeRedisModule {
  createClient(options: object): Connectable;
  createCluster(options: object): NodeRedisClusterLike & { connect(): Promise<unknown> };
}

/** Wait before the next attempt at a whole cluster, by chance up to half shorter or longer. */
const RETRY_MS = 250;
/** A node of a cluster that says nothing for so long is not asked further where the others are. */
const MAP_MS = 1000;

/**
 * A client for a URL, connecting in the background from now on and for ever. Until it is connected
 * every call fails at once, so that the failure mode decides and a process starts without Redis.
 */
export function connectUrl(text: string, clock: Clock, options: ConnectOptions = {}): RedisClient {
  refuseOnWorkers();
  assertInstalled();
  const address = parseStoreUrl(text);
  checkConnectOptions(options, address);
  let client: RedisClient | undefined;
  let lastError: string | undefined = CONNECTING;
  let isClosed = false;
  let stopTimer = (): void => undefined;

  const onError = (message: string) => {
    lastError = message;
  };
  const onReady = () => {
    lastError = undefined;
  };
  const connect = async (): Promise<void> => {
    try {
      const redis = await loadNodeRedis();
      if (isClosed) return;
      await open({ redis, address, options, clock, onError, onReady }, (made) => {
        client = made;
      });
    } catch (error) {
      // A cluster client says only that no node could be used; its last error says why.
      onError(client?.lastError() ?? (error instanceof Error ? error.message : String(error)));
      if (isClosed) return;
      void client?.close();
      client = undefined;
      stopTimer = clock.startTimer(RETRY_MS * (0.5 + Math.random()), () => void connect());
    }
  };
  void connect();

  return {
    isCluster: address.kind === 'cluster',
    nodeOf: (slot) => client?.nodeOf(slot),
    nodeAt: (at) => client?.nodeAt(at),
    refresh: (failing) => client?.refresh(failing),
    warnings: [],
    lastError: () => client?.lastError() ?? lastError,
    close: async () => {
      isClosed = true;
      stopTimer();
      await client?.close();
    },
  };
}

interface Opening {
  readonly redis: NodeRedisModule;
  readonly address: Address;
  readonly options: ConnectOptions;
  readonly clock: Clock;
  readonly onError: (message: string) => void;
  readonly onReady: () => void;
}

/**
 * Makes a client, hands it over, and connects it. A client is of use before it is fully connected: one
 * that waits for a dead shard of a cluster serves all others.
 */
async function open(opening: Opening, onClient: (client: RedisClient) => void): Promise<void> {
  const { redis, address, options, clock, onError, onReady } = opening;
  const { username, password, isTls } = address;
  // One object per client, for the client writes into it.
  const socketTo = (at?: HostPort, preset = nodeRedisPreset) => ({
    ...preset.socket,
    ...(isTls && { tls: true, ...options.tls }),
    ...at,
  });
  const credentials = { ...(username && { username }), ...(password && { password }) };
  const mine = { ...nodeRedisPreset, ...credentials, socket: socketTo() };
  if (address.kind === 'cluster') {
    // Holds for the connections that ask for the map of slots, which the client ends in no other way.
    const socket = { socketTimeout: MAP_MS };
    const rootNodes = address.urls.map((url) => ({ url, socket: { ...socket } }));
    const nodeAddressMap = mapperOf(options.natMap);
    const preset = nodeRedisClusterPreset.defaults;
    const defaults = { ...preset, ...credentials, socket: socketTo(undefined, preset) };
    const cluster = redis.createCluster({ ...nodeRedisClusterPreset, rootNodes, defaults, nodeAddressMap });
    onClient(fromNodeRedisCluster(cluster));
    await cluster.connect();
    // A map without slots is never asked for again: begin anew, until the cluster is formed.
    if (cluster.nodeByAddress.size === 0) throw new Error('the cluster serves no slots');
    return;
  }
  if (address.kind === 'sentinel') {
    const { primaryName: name, urls, database } = address;
    const sentinels = urls.map((url) => {
      return redis.createClient({ ...nodeRedisPreset, ...options.sentinel, url, socket: socketTo() });
    });
    const toServer = (at: HostPort) => redis.createClient({ ...mine, socket: socketTo(at), database });
    onClient(followSentinels({ name, sentinels, toServer, map: mapperOf(options.natMap), clock }));
    return;
  }
  const single = redis.createClient({ ...mine, url: address.urls[0] });
  onClient(fromNodeRedis(single));
  single.on('error', (error) => onError(error.message));
  single.on('ready', onReady);
  // It keeps trying by itself; until then isReady is false.
  single.connect().catch((error: Error) => onError(error.message));
}

/** No literal, so that bundlers leave it out: they would bring it to everybody. */
const PACKAGE: string = 'redis';

/** Without it no call could ever reach a server: refused at once, where the platform can tell. */
function assertInstalled(): void {
  const { resolve } = import.meta as { readonly resolve?: (name: string) => string };
  try {
    resolve?.(PACKAGE);
  } catch (error) {
    if ((error as { readonly code?: unknown } | null)?.code === 'ERR_MODULE_NOT_FOUND') throw missing();
  }
}

async function loadNodeRedis(): Promise<NodeRedisModule> {
  try {
    return (await import(PACKAGE)) as NodeRedisModule;
  } catch {
    throw missing();
  }
}

const missing = (): ComportaError =>
  new ComportaError(
    'ERR_CLIENT',
    'a store URL needs the package "redis": run `npm install redis`, or pass a client of yours',
    'store',
  );

import { ComportaError, show } from '../core/errors.js';
import type { Clock } from '../core/time.js';
import type { RedisClient } from './client.js';
import {
  fromNodeRedis,
  fromNodeRedisCluster,
  type NodeRedisClusterLike,
  type NodeRedisLike,
  nodeRedisClusterPreset,
  nodeRedisPreset,
} from './node-redis.js';

interface Address {
  readonly isCluster: boolean;
  /** `redis://` or `rediss://` URLs of one server, or of some nodes of a cluster. */
  readonly urls: readonly string[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly isTls: boolean;
}

/** The parts of the `redis` package used here, loaded only when a store is made from a URL. */
interface NodeRedisModule {
  createClient(options: object): NodeRedisLike & { connect(): Promise<unknown> };
  createCluster(options: object): NodeRedisClusterLike & { connect(): Promise<unknown> };
}

const FORMS = 'redis://host:port, rediss://host:port, redis-cluster://host:port,host:port or rediss-cluster://...';
const RETRY_MS = 250;

/** Reads a store URL; throws `ERR_OPTION` without repeating the password. */
export function parseStoreUrl(text: string): Address {
  const match = /^(rediss?)(-cluster)?:\/\/(?:([^@/]*)@)?([^@/]+)(\/\d*)?$/.exec(text);
  const hosts = match?.[4]?.split(',') ?? [];
  const isCluster = match?.[2] !== undefined;
  const hasForm = hosts.every((host) => /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?$/.test(host));
  if (match === null || !hasForm || (!isCluster && hosts.length !== 1)) {
    const shown = text.replace(/\/\/[^@]*@/, '//***@');
    throw new ComportaError('ERR_OPTION', `store: expected ${FORMS}, got ${show(shown)}`, 'store');
  }
  const [username, password] = (match[3] ?? '').split(/:(.*)/s).map(decodeURIComponent);
  const path = isCluster ? '' : (match[5] ?? '');
  return {
    isCluster,
    urls: hosts.map((host) => `${match[1]}://${host}${path}`),
    username: username || undefined,
    password: password || undefined,
    isTls: match[1] === 'rediss',
  };
}

/**
 * A client for a URL, connecting in the background from now on and for ever. Until it is connected
 * every call fails at once, so that the failure mode decides and a process starts without Redis.
 */
export function connectUrl(text: string, clock: Clock): RedisClient {
  const address = parseStoreUrl(text);
  let client: RedisClient | undefined;
  let lastError: string | undefined = 'still connecting';
  let isClosed = false;
  let stopTimer = (): void => undefined;

  const onError = (message: string) => {
    lastError = message;
  };
  const connect = async (): Promise<void> => {
    try {
      const redis = await loadNodeRedis();
      if (isClosed) return;
      await open(redis, address, onError, (made) => {
        client = made;
      });
    } catch (error) {
      onError(error instanceof Error ? error.message : String(error));
      if (isClosed) return;
      void client?.close();
      client = undefined;
      stopTimer = clock.startTimer(RETRY_MS, () => void connect());
    }
  };
  void connect();

  return {
    isCluster: address.isCluster,
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

/**
 * Makes a client, hands it over, and connects it. A client is of use before it is fully connected: one
 * that waits for a dead shard of a cluster serves all others.
 */
async function open(
  redis: NodeRedisModule,
  address: Address,
  onError: (message: string) => void,
  onClient: (client: RedisClient) => void,
): Promise<void> {
  const { username, password, isTls } = address;
  const credentials = { ...(username && { username }), ...(password && { password }) };
  if (address.isCluster) {
    const defaults = {
      ...nodeRedisPreset,
      ...credentials,
      socket: { ...nodeRedisPreset.socket, ...(isTls && { tls: true }) },
    };
    const rootNodes = address.urls.map((url) => ({ url }));
    const cluster = redis.createCluster({ ...nodeRedisClusterPreset, rootNodes, defaults });
    onClient(fromNodeRedisCluster(cluster));
    await cluster.connect();
    return;
  }
  const single = redis.createClient({ ...nodeRedisPreset, ...credentials, url: address.urls[0] });
  onClient(fromNodeRedis(single));
  single.on('error', (error) => onError(error.message));
  // It keeps trying by itself; until then isReady is false.
  single.connect().catch((error: Error) => onError(error.message));
}

async function loadNodeRedis(): Promise<NodeRedisModule> {
  try {
    const name = 'redis';
    return (await import(name)) as NodeRedisModule;
  } catch {
    throw new ComportaError(
      'ERR_CLIENT',
      'a store URL needs the package "redis": run `npm install redis`, or pass a client of yours',
      'store',
    );
  }
}

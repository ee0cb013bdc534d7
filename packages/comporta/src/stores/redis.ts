import { systemClock } from '../core/time.js';
import { connectUrl } from '../redis/connect.js';
import { checkConnectOptions, type NatMap, type TlsOptions } from '../redis/connect-options.js';
import { detect, type SupportedClient } from '../redis/detect.js';
import { checkKeyOptions, type KeyOptions, openRedis } from './redis-store.js';
import type { Store } from './store.js';

export interface RedisStoreOptions extends KeyOptions {
  /** For `rediss` URLs. */
  readonly tls?: TlsOptions;
  /** For cluster and Sentinel URLs, when servers name addresses that cannot be reached from here. */
  readonly natMap?: NatMap;
  /** Login at the Sentinels of a `redis-sentinel` URL. */
  readonly sentinel?: { readonly username?: string; readonly password?: string };
}

/**
 * Keeps state in Redis 7+ or Valkey 8+, single or Cluster, shared by every process that uses it.
 * Takes a store URL or a client of yours (ioredis, node-redis, iovalkey; single or Cluster), which
 * stays yours to close. Connects in the background.
 */
export function redisStore(source: string | SupportedClient, options: RedisStoreOptions = {}): Store {
  checkKeyOptions(options, ['tls', 'natMap', 'sentinel']);
  if (typeof source === 'string') {
    const client = connectUrl(source, options.clock ?? systemClock, options);
    return openRedis(client, options, () => client.close());
  }
  const client = detect(source);
  checkConnectOptions(options, undefined);
  return openRedis(client, options, () => Promise.resolve());
}

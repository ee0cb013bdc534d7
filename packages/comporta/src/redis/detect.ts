import { ComportaError, show } from '../core/errors.js';
import { type BunRedisLike, fromBun } from './bun.js';
import type { RedisClient } from './client.js';
import { fromGlide, fromGlideCluster } from './glide.js';
import type { GlideClusterLike, GlideLike } from './glide-options.js';
import { fromIoredis, fromIoredisCluster, type IoredisClusterLike, type IoredisLike } from './ioredis.js';
import { fromNodeRedis, fromNodeRedisCluster, type NodeRedisClusterLike, type NodeRedisLike } from './node-redis.js';
import { refuseOnWorkers } from './workers.js';

/** A client that a Redis store can be made from. */
export type SupportedClient =
  | IoredisLike
  | IoredisClusterLike
  | NodeRedisLike
  | NodeRedisClusterLike
  | GlideLike
  | GlideClusterLike
  | BunRedisLike;

/** Clients that cannot keep the promises of a store, and what to use in their place. */
const REFUSED: Readonly<Record<'sentinel' | 'pool' | 'upstash' | 'old' | 'promise' | 'pipeline', string>> = {
  sentinel:
    'createSentinel of node-redis sends a command again after a lost connection, which charges a request twice; ' +
    "use a store URL: redisStore('redis-sentinel://host:port,host:port/name')",
  pool:
    'a pool of node-redis makes calls wait for a free connection; one connection takes all of them: ' +
    'use createClient({ url, ...nodeRedisPreset })',
  upstash:
    'a client of @upstash/redis sends a command again when it fails, which charges a request twice; ' +
    'use upstashStore({ url, token }) of comporta/upstash',
  old:
    'a client of node-redis 4, or its legacy mode, cannot be ended while it waits for an answer; ' +
    'use version 5 or later: npm install redis@latest',
  promise: 'got a promise of a client; await it first',
  pipeline: 'a pipeline or transaction sends nothing until exec(); pass the client that it is of',
};

/** Finds out which library a client is of, by the methods it has; throws `ERR_CLIENT` when none fits. */
export function detect(client: SupportedClient): RedisClient {
  refuseOnWorkers();
  const has = (name: string) => typeof (client as unknown as Record<string, unknown> | null)?.[name] === 'function';
  if (has('getSentinelNode')) throw refusal(REFUSED.sentinel);
  if (has('execute') && has('sendCommand') && !('isReady' in client)) throw refusal(REFUSED.pool);
  if (has('evalsha') && has('createScript')) throw refusal(REFUSED.upstash);
  if (has('then')) throw refusal(REFUSED.promise);
  if ((has('exec') || has('customCommand')) && !has('connect') && !has('close')) throw refusal(REFUSED.pipeline);
  if (has('sendCommand') && has('EVALSHA') && !has('destroy')) throw refusal(REFUSED.old);
  if (has('nodes') && has('refreshSlotsCache')) return fromIoredisCluster(client as IoredisClusterLike);
  if (has('call') && has('evalsha')) return fromIoredis(client as IoredisLike);
  if (has('nodeClient') && has('sendCommand')) return fromNodeRedisCluster(client as NodeRedisClusterLike);
  if (has('sendCommand') && has('evalSha')) return fromNodeRedis(client as NodeRedisLike);
  if (has('customCommand') && has('ssubscribe')) return fromGlideCluster(client as GlideClusterLike);
  if (has('customCommand')) return fromGlide(client as GlideLike);
  if (has('send') && 'bufferedAmount' in client) return fromBun(client as BunRedisLike);
  throw refusal(
    'expected a store URL or a client of ioredis, iovalkey, node-redis, GLIDE (single or Cluster) or Bun, ' +
      `got ${show(client)}`,
  );
}

function refusal(message: string): ComportaError {
  return new ComportaError('ERR_CLIENT', `redisStore: ${message}`, 'store');
}

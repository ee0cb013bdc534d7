export { type BunRedisLike, bunPreset } from './redis/bun.js';
export type { RedisClient, RedisNode } from './redis/client.js';
export type { NatMap, TlsOptions } from './redis/connect-options.js';
export type { SupportedClient } from './redis/detect.js';
export type { Finding } from './redis/finding.js';
export { type GlideClusterLike, type GlideLike, glidePreset } from './redis/glide-options.js';
export type { IoredisClusterLike, IoredisLike } from './redis/ioredis.js';
export { ioredisClusterPreset, ioredisPreset } from './redis/ioredis-presets.js';
export {
  type NodeRedisClusterLike,
  type NodeRedisLike,
  nodeRedisClusterPreset,
  nodeRedisPreset,
} from './redis/node-redis.js';
export { parseStoreUrl } from './redis/url.js';
export { type RedisStoreOptions, redisStore } from './stores/redis.js';
export { type SelfTestOptions, selfTest } from './stores/self-test.js';

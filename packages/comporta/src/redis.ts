export type { RedisClient, RedisNode } from './redis/client.js';
export { parseStoreUrl } from './redis/connect.js';
export type { SupportedClient } from './redis/detect.js';
export { type IoredisClusterLike, type IoredisLike, ioredisClusterPreset, ioredisPreset } from './redis/ioredis.js';
export {
  type NodeRedisClusterLike,
  type NodeRedisLike,
  nodeRedisClusterPreset,
  nodeRedisPreset,
} from './redis/node-redis.js';
export { type RedisStoreOptions, redisStore } from './stores/redis.js';

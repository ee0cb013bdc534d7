// What is measured on Redis. A subject opens its connection and gives a maker of limiters. A limiter is asked about a
// key and says 1 (admitted) or 0 (refused), or 2 and 3 for the same without Redis, because Redis was late; at once or
// as a promise.
import { createRequire } from 'node:module';
import { createLimiter, slidingWindow, tokenBucket } from '../../packages/comporta/dist/index.js';
import {
  ioredisClusterPreset,
  ioredisPreset,
  nodeRedisClusterPreset,
  nodeRedisPreset,
  redisStore,
} from '../../packages/comporta/dist/redis.js';
import { ioredis, nodeRedis } from './connections.mjs';
import { rateLimitRedis } from './rate-limit-redis.mjs';
import { upstash } from './upstash.mjs';
import { bareSocket } from './wire.mjs';

const load = createRequire(import.meta.url);
const ours = {
  ioredis: (at) => ioredis(at, { preset: ioredisPreset, clusterPreset: ioredisClusterPreset }),
  'node-redis': (at) => nodeRedis(at, { preset: nodeRedisPreset, clusterPreset: nodeRedisClusterPreset }),
};

const bucketOf = ({ limit, windowMs }) => tokenBucket({ capacity: limit, refill: limit, every: windowMs });
/** The exact log takes limits up to a million. */
const logOf = ({ limit, windowMs }) => slidingWindow({ limit: Math.min(limit, 1_000_000), window: windowMs });

const verdict = ({ allowed, degraded }) => (degraded ? (allowed ? 2 : 3) : allowed ? 1 : 0);

/** The library as it is published, with the options that a policy has when it names none. */
const comporta = (client, limitsOf, call) => async (at) => {
  const store = redisStore(await ours[client](at));
  await store.ready(10_000);
  return (policy) => {
    const limiter = createLimiter({ policy: policy.name, limits: limitsOf(policy), store });
    if (call === 'decide') {
      return (subject) => {
        const decision = limiter.decide(subject);
        return decision instanceof Promise ? decision.then(verdict) : verdict(decision);
      };
    }
    return (subject) => limiter.consume(subject).then(verdict);
  };
};

const flexible = (open, options) => async (at) => {
  const { RateLimiterRedis } = load('rate-limiter-flexible');
  const storeClient = await open(at);
  return ({ name, limit, windowMs }) => {
    const own = options(limit);
    const limiter = new RateLimiterRedis({
      storeClient,
      points: limit,
      duration: windowMs / 1000,
      keyPrefix: name,
      ...own,
    });
    // A refusal rejects with a result, a fault with an error.
    const refused = (reason) => {
      if (reason instanceof Error) throw reason;
      return 0;
    };
    return (subject) => limiter.consume(subject).then(() => 1, refused);
  };
};

const fastify = async (at) => {
  const RedisStore = load('@fastify/rate-limit/store/RedisStore.js');
  const client = await ioredis(at);
  return ({ name, limit, windowMs }) => {
    const store = new RedisStore(false, false, client, name);
    return (subject) =>
      new Promise((resolve, reject) => {
        const answer = (error, result) => (error ? reject(error) : resolve(result.current <= limit ? 1 : 0));
        store.incr(subject, answer, windowMs, limit);
      });
  };
};

const nest = async (at) => {
  load('reflect-metadata');
  const { ThrottlerStorageRedisService } = load('@nest-lab/throttler-storage-redis');
  const storage = new ThrottlerStorageRedisService(await ioredis(at));
  return ({ name, limit, windowMs }) =>
    (subject) =>
      storage.increment(subject, windowMs, limit, windowMs, name).then(({ isBlocked }) => (isBlocked ? 0 : 1));
};

const asyncRatelimiter = async (at) => {
  const RateLimiter = load('async-ratelimiter');
  const db = await ioredis(at);
  return ({ name, limit, windowMs }) => {
    const limiter = new RateLimiter({ db, max: Math.min(limit, 1_000_000), duration: windowMs, namespace: name });
    return (id) => limiter.get({ id }).then(({ remaining }) => (remaining > 0 ? 1 : 0));
  };
};

const rolling = async (at) => {
  const { IORedisRateLimiter } = load('rolling-rate-limiter');
  const client = await ioredis(at);
  return ({ name, limit, windowMs }) => {
    const maxInInterval = Math.min(limit, 1_000_000);
    const limiter = new IORedisRateLimiter({ client, namespace: name, interval: windowMs, maxInInterval });
    return (subject) => limiter.limit(subject).then((isBlocked) => (isBlocked ? 0 : 1));
  };
};

/** A queue of jobs with one reservoir: it has no subjects, so it takes part only where there is one. */
const bottleneck = async ({ ports }) => {
  const Bottleneck = load('bottleneck');
  return ({ name, limit, windowMs }) => {
    const queue = new Bottleneck({
      id: name,
      datastore: 'ioredis',
      Redis: load('ioredis'),
      clientOptions: { host: '127.0.0.1', port: ports[0] },
      reservoir: limit,
      reservoirRefreshAmount: limit,
      reservoirRefreshInterval: windowMs,
      highWater: 0,
      strategy: Bottleneck.strategy.OVERFLOW,
    });
    queue.on('error', () => {});
    const job = () => Promise.resolve(1);
    const refused = (error) => {
      if (error instanceof Bottleneck.BottleneckError) return 0;
      throw error;
    };
    return () => queue.schedule(job).catch(refused);
  };
};

const HOT = ['below', 'refused'];
const none = () => ({});
const block = (limit) => ({ inMemoryBlockOnConsumed: limit });

/** By name: `by` is whose it is, `algorithm` what it promises, `modes` where it takes part when not everywhere. */
export const SUBJECTS = {
  'bare socket': { by: 'reference', algorithm: 'token bucket', open: bareSocket },
  'comporta bucket, ioredis': { by: 'comporta', algorithm: 'token bucket', open: comporta('ioredis', bucketOf) },
  'comporta bucket, node-redis': { by: 'comporta', algorithm: 'token bucket', open: comporta('node-redis', bucketOf) },
  'comporta log, ioredis': { by: 'comporta', algorithm: 'exact log', open: comporta('ioredis', logOf) },
  'comporta log, node-redis': { by: 'comporta', algorithm: 'exact log', open: comporta('node-redis', logOf) },
  'comporta bucket, ioredis, decide()': {
    by: 'comporta',
    algorithm: 'token bucket',
    open: comporta('ioredis', bucketOf, 'decide'),
    modes: ['refused'],
  },
  'rate-limiter-flexible, ioredis': { by: 'peer', algorithm: 'fixed window', open: flexible(ioredis, none) },
  'rate-limiter-flexible, inMemoryBlock': { by: 'peer', algorithm: 'fixed window', open: flexible(ioredis, block) },
  'rate-limiter-flexible, node-redis': {
    by: 'peer',
    algorithm: 'fixed window',
    open: flexible(nodeRedis, () => ({ useRedisPackage: true })),
  },
  'rate-limit-redis, ioredis': { by: 'peer', algorithm: 'fixed window', open: rateLimitRedis('ioredis') },
  'rate-limit-redis, node-redis': { by: 'peer', algorithm: 'fixed window', open: rateLimitRedis('node-redis') },
  '@fastify/rate-limit': { by: 'peer', algorithm: 'fixed window', open: fastify },
  '@nest-lab/throttler-storage-redis': { by: 'peer', algorithm: 'fixed window and block', open: nest },
  '@upstash/ratelimit fixed': { by: 'peer', algorithm: 'fixed window', open: upstash('fixedWindow') },
  '@upstash/ratelimit sliding': {
    by: 'peer',
    algorithm: 'two counters',
    open: upstash('slidingWindow'),
  },
  '@upstash/ratelimit bucket': { by: 'peer', algorithm: 'stepped bucket', open: upstash('tokenBucket') },
  'async-ratelimiter': { by: 'peer', algorithm: 'log', open: asyncRatelimiter },
  'rolling-rate-limiter': { by: 'peer', algorithm: 'log', open: rolling },
  bottleneck: { by: 'peer', algorithm: 'job queue', open: bottleneck, modes: HOT, topologies: ['single'] },
};

// What is measured without Redis, in one process. As in subjects.mjs, a limiter says 1 or 0, at once or as a promise.
import { createRequire } from 'node:module';
import { MemoryStore as ExpressStore } from 'express-rate-limit';
import { MemoryStore as HonoStore } from 'hono-rate-limiter';
import { TokenBucket } from 'limiter';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { createLimiter, slidingWindow, tokenBucket } from '../../packages/comporta/dist/index.js';

const LocalStore = createRequire(import.meta.url)('@fastify/rate-limit/store/LocalStore.js');
const bucketOf = ({ limit, windowMs }) => tokenBucket({ capacity: limit, refill: limit, every: windowMs });
const logOf = ({ limit, windowMs }) => slidingWindow({ limit: Math.min(limit, 1_000_000), window: windowMs });
const verdict = ({ allowed }) => (allowed ? 1 : 0);

const comporta = (limitsOf, call) => (policy) => {
  const limiter = createLimiter({ policy: policy.name, limits: limitsOf(policy) });
  if (call === 'decide') return (subject) => verdict(limiter.decide(subject));
  return (subject) => limiter.consume(subject).then(verdict);
};

/** The least a token bucket can be: two numbers in a Map, which grows without end. */
const bareMap = ({ limit, windowMs }) => {
  const buckets = new Map();
  const perMs = limit / windowMs;
  return (subject) => {
    const now = Date.now();
    let bucket = buckets.get(subject);
    if (bucket === undefined) {
      bucket = { tokens: limit, at: now };
      buckets.set(subject, bucket);
    }
    bucket.tokens = Math.min(limit, bucket.tokens + (now - bucket.at) * perMs);
    bucket.at = now;
    if (bucket.tokens < 1) return 0;
    bucket.tokens--;
    return 1;
  };
};

const flexible = ({ limit, windowMs }) => {
  const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 });
  const refused = (reason) => {
    if (reason instanceof Error) throw reason;
    return 0;
  };
  return (subject) => limiter.consume(subject).then(() => 1, refused);
};

/** `limiter` has no subjects: a Map of its buckets, each made as it is met. */
const limiterBuckets = ({ limit, windowMs }) => {
  const buckets = new Map();
  return (subject) => {
    let bucket = buckets.get(subject);
    if (bucket === undefined) {
      bucket = new TokenBucket({ bucketSize: limit, tokensPerInterval: limit, interval: windowMs });
      bucket.content = limit;
      buckets.set(subject, bucket);
    }
    return bucket.tryRemoveTokens(1) ? 1 : 0;
  };
};

const hono = ({ limit, windowMs }) => {
  const store = new HonoStore();
  store.init({ windowMs });
  return (subject) => (store.increment(subject).totalHits <= limit ? 1 : 0);
};

const express = ({ limit, windowMs }) => {
  const store = new ExpressStore();
  store.init({ windowMs });
  return (subject) => store.increment(subject).then(({ totalHits }) => (totalHits <= limit ? 1 : 0));
};

const fastify = ({ limit, windowMs }) => {
  const store = new LocalStore(false, false);
  let current = 0;
  const answer = (_, result) => {
    current = result.current;
  };
  return (subject) => {
    store.incr(subject, answer, windowMs, limit);
    return current <= limit ? 1 : 0;
  };
};

const at = (make) => async () => make;

export const MEMORY_SUBJECTS = {
  'bare Map': { by: 'reference', algorithm: 'token bucket', open: at(bareMap) },
  'comporta bucket, decide()': { by: 'comporta', algorithm: 'token bucket', open: at(comporta(bucketOf, 'decide')) },
  'comporta bucket, consume()': { by: 'comporta', algorithm: 'token bucket', open: at(comporta(bucketOf, 'consume')) },
  'comporta log, decide()': { by: 'comporta', algorithm: 'exact log', open: at(comporta(logOf, 'decide')) },
  'limiter TokenBucket': { by: 'peer', algorithm: 'token bucket', open: at(limiterBuckets) },
  'rate-limiter-flexible memory': { by: 'peer', algorithm: 'fixed window', open: at(flexible) },
  'hono-rate-limiter MemoryStore': { by: 'peer', algorithm: 'fixed window', open: at(hono) },
  'express-rate-limit MemoryStore': { by: 'peer', algorithm: 'fixed window', open: at(express) },
  '@fastify/rate-limit LocalStore': { by: 'peer', algorithm: 'fixed window', open: at(fastify) },
};

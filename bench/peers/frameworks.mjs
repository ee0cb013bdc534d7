// Each framework bare, with comporta, and with the limiter that its users usually take. A port asks for Redis.
import fastifyRateLimit from '@fastify/rate-limit';
import { getRequestListener } from '@hono/node-server';
import { fixedWindow } from 'comporta';
import { rateLimit as expressLimit } from 'comporta/express';
import { rateLimit as fastifyLimit } from 'comporta/fastify';
import { rateLimit as honoLimit } from 'comporta/hono';
import { rateLimit as koaLimit } from 'comporta/koa';
import { redisStore } from 'comporta/redis';
import express from 'express';
import { rateLimit as expressRateLimit } from 'express-rate-limit';
import fastify from 'fastify';
import { Hono } from 'hono';
import { RedisStore as HonoRedisStore, rateLimiter } from 'hono-rate-limiter';
import { Redis } from 'ioredis';
import Koa from 'koa';
import koaRateLimit from 'koa-ratelimit';
import { RedisStore } from 'rate-limit-redis';

export const BODY = '{"hello":"from the handler, with some bytes to carry"}';

const LIMIT = 1_000_000_000;
const WINDOW_MS = 60_000;
// The algorithm that the others have too.
const policy = { name: 'api', limits: fixedWindow({ limit: LIMIT, window: WINDOW_MS }), key: 'ip' };

async function optionsFor(port) {
  if (port === undefined) return policy;
  const store = redisStore(`redis://127.0.0.1:${port}`);
  await store.ready(5000);
  return { ...policy, store };
}

const ioredis = (port) => new Redis({ host: '127.0.0.1', port: Number(port) });

function expressApp(limiter) {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  if (limiter !== undefined) app.use(limiter);
  return app.get('/api/items', (_request, response) => response.type('json').send(BODY));
}

async function fastifyApp(plugin, options) {
  const app = fastify({ keepAliveTimeout: 600_000 });
  if (plugin !== undefined) await app.register(plugin, options);
  app.get('/api/items', (_request, reply) => reply.type('application/json').send(BODY));
  return app;
}

function honoApp(limiter) {
  const app = new Hono();
  if (limiter !== undefined) app.use(limiter);
  app.get('/api/items', (c) => c.body(BODY, 200, { 'content-type': 'application/json' }));
  return getRequestListener(app.fetch);
}

function koaApp(limiter) {
  const app = new Koa();
  if (limiter !== undefined) app.use(limiter);
  app.use((context) => {
    context.type = 'json';
    context.body = BODY;
  });
  return app.callback();
}

function expressTheirs(port) {
  const store = port && new RedisStore({ sendCommand: (...args) => client.call(...args) });
  const client = port && ioredis(port);
  return expressRateLimit({
    windowMs: WINDOW_MS,
    limit: LIMIT,
    legacyHeaders: false,
    standardHeaders: 'draft-8',
    store,
  });
}

function honoTheirs(port) {
  const keyGenerator = (c) => c.env.incoming.socket.remoteAddress;
  const options = { windowMs: WINDOW_MS, limit: LIMIT, standardHeaders: 'draft-7', keyGenerator };
  if (port === undefined) return rateLimiter(options);
  const redis = ioredis(port);
  const client = {
    scriptLoad: (script) => redis.script('LOAD', script),
    evalsha: (sha, keys, args) => redis.evalsha(sha, keys.length, ...keys, ...args),
    decr: (key) => redis.decr(key),
    del: (key) => redis.del(key),
  };
  return rateLimiter({ ...options, store: new HonoRedisStore({ client }) });
}

const koaTheirs = (port) =>
  koaRateLimit({
    driver: port === undefined ? 'memory' : 'redis',
    db: port === undefined ? new Map() : ioredis(port),
    duration: WINDOW_MS,
    max: port === undefined ? LIMIT : 1_000_000,
    id: (context) => context.ip,
  });

export const frameworks = {
  express: {
    peer: 'express-rate-limit 8.7.5, rate-limit-redis 6.0.1',
    bare: () => expressApp(),
    ours: async (port) => expressApp(expressLimit(await optionsFor(port))),
    theirs: (port) => expressApp(expressTheirs(port)),
  },
  fastify: {
    peer: '@fastify/rate-limit 11.2.0',
    bare: () => fastifyApp(),
    ours: async (port) => fastifyApp(fastifyLimit, await optionsFor(port)),
    theirs: (port) =>
      fastifyApp(fastifyRateLimit, { max: LIMIT, timeWindow: WINDOW_MS, ...(port && { redis: ioredis(port) }) }),
  },
  hono: {
    peer: 'hono-rate-limiter 0.5.4',
    bare: () => honoApp(),
    ours: async (port) => honoApp(honoLimit(await optionsFor(port))),
    theirs: (port) => honoApp(honoTheirs(port)),
  },
  koa: {
    peer: 'koa-ratelimit 6.0.0',
    bare: () => koaApp(),
    ours: async (port) => koaApp(koaLimit(await optionsFor(port))),
    theirs: (port) => koaApp(koaTheirs(port)),
  },
};

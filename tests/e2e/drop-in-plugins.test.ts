import { comportaStore as fastifyStore } from 'comporta/fastify-rate-limit';
import { comportaStore as honoStore } from 'comporta/hono-rate-limiter';
import { comportaStorage } from 'comporta/nest-throttler';
import { faultyStore } from 'comporta/testing';
import type { FastifyRequest } from 'fastify';
import { type Context, Hono } from 'hono';
import type { WSContext } from 'hono/ws';
import { type HonoConfigProps, rateLimiter, webSocketLimiter } from 'hono-rate-limiter';
import { describe, expect, test } from 'vitest';
import { listenFastify, listenHono, listenNest } from '../cluster/drop-in-apps.js';

async function statuses(url: string, times: number): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) {
    const response = await fetch(url);
    await response.arrayBuffer();
    all.push(response.status);
  }
  return all;
}

const MINUTE = 60_000;

describe('@fastify/rate-limit', () => {
  test('routes have limits and windows of their own', async () => {
    const own = { config: { rateLimit: { max: 2, timeWindow: '1 hour' } } };
    await using at = await listenFastify({ store: fastifyStore(), max: 3, timeWindow: MINUTE }, (app) => {
      app.get('/', () => 'hello');
      app.get('/own', own, () => 'own');
      app.get('/free', { config: { rateLimit: false } }, () => 'free');
    });
    expect(await statuses(`${at.url}/own`, 3)).toEqual([200, 200, 429]);
    expect((await fetch(`${at.url}/own`)).headers.get('retry-after')).toBe('3600');
    expect(await statuses(at.url, 4)).toEqual([200, 200, 200, 429]);
    expect(await statuses(`${at.url}/free`, 4)).toEqual([200, 200, 200, 200]);
  });

  test('routes of one group count together', async () => {
    const config = { rateLimit: { max: 3, timeWindow: MINUTE, groupId: 'OTP' } };
    await using at = await listenFastify({ store: fastifyStore(), global: false }, (app) => {
      app.get('/send', { config }, () => 'sent');
      app.get('/resend', { config }, () => 'sent again');
    });
    expect(await statuses(`${at.url}/send`, 2)).toEqual([200, 200]);
    expect(await statuses(`${at.url}/resend`, 2)).toEqual([200, 429]);
  });

  test('a client that does not stop asking is banned', async () => {
    let banned = 0;
    const onBanReach = (): void => void banned++;
    const plugin = { store: fastifyStore(), max: 1, timeWindow: MINUTE, ban: 2, onBanReach };
    await using at = await listenFastify(plugin, (app) => void app.get('/', () => 'hello'));
    expect(await statuses(at.url, 5)).toEqual([200, 429, 429, 403, 403]);
    expect(banned).toBe(2);
  });

  test('createRateLimit counts, and looks without counting', async () => {
    await using at = await listenFastify({ store: fastifyStore(), global: false }, (app) => {
      const check = app.createRateLimit({ max: 2, timeWindow: MINUTE });
      app.get('/count', (request: FastifyRequest) => check(request));
      app.get('/look', (request: FastifyRequest) => check(request, { increment: false }));
    });
    const ask = async (path: string): Promise<unknown> => (await fetch(`${at.url}/${path}`)).json();
    await ask('count');
    expect(await ask('look')).toMatchObject({ remaining: 1, isExceeded: false, ttlInSeconds: 60 });
    expect(await ask('count')).toMatchObject({ remaining: 0, isExceeded: false });
    expect(await ask('count')).toMatchObject({ remaining: 0, isExceeded: true, isBanned: false });
  });

  test('skipOnError decides about a store that is closed', async () => {
    const faulty = faultyStore();
    const given = { store: faulty, name: 'api', onStoreFailure: 'closed', onEvent: () => undefined } as const;
    await using at = await listenFastify({ store: fastifyStore(given), skipOnError: true }, (app) => {
      app.get('/', () => 'hello');
    });
    faulty.down();
    expect(await statuses(at.url, 2)).toEqual([200, 200]);
  });

  test('what the store cannot keep stops the start with a message', async () => {
    const plugin = { store: fastifyStore(), exponentialBackoff: true };
    await expect(listenFastify(plugin, () => undefined)).rejects.toThrow('exponentialBackoff: not kept by this store');
  });
});

describe('@nestjs/throttler', () => {
  test('several throttlers count each by itself, and blocks last as long as they should', async () => {
    const throttlers = [
      { name: 'short', limit: 2, ttl: 1000, blockDuration: 30_000 },
      { name: 'long', limit: 5, ttl: MINUTE },
    ];
    await using at = await listenNest({ throttlers, storage: comportaStorage() });
    const first = await fetch(at.url);
    expect(first.headers.get('x-ratelimit-remaining-short')).toBe('1');
    expect(first.headers.get('x-ratelimit-remaining-long')).toBe('4');
    expect(await statuses(at.url, 1)).toEqual([200]);
    const refused = await fetch(at.url);
    expect([refused.status, refused.headers.get('retry-after-short')]).toEqual([429, '30']);
  });

  test('decorators change limits and skip routes', async () => {
    await using at = await listenNest({ throttlers: [{ limit: 3, ttl: MINUTE }], storage: comportaStorage() });
    expect(await statuses(`${at.url}/strict`, 2)).toEqual([200, 429]);
    expect(await statuses(`${at.url}/free`, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(await statuses(at.url, 4)).toEqual([200, 200, 200, 429]);
  });

  test('the storage ends with the application', async () => {
    const storage = comportaStorage();
    await using at = await listenNest({ throttlers: [{ limit: 1, ttl: MINUTE }], storage });
    await statuses(at.url, 1);
    await at[Symbol.asyncDispose]();
    const again = await storage.increment('a', MINUTE, 1, 0, 'default');
    expect(again.totalHits, 'nothing is left of before').toBe(1);
  });
});

describe('hono-rate-limiter', () => {
  const start = (config: Partial<HonoConfigProps>) => {
    const app = new Hono();
    app.use(rateLimiter({ keyGenerator: () => 'a', windowMs: MINUTE, limit: 3, ...config } as HonoConfigProps));
    app.get('/:status', (c) => c.body(null, Number(c.req.param('status')) as 200));
    return listenHono(app);
  };

  test('with skipFailedRequests failures stay uncounted, and refusals take nothing back', async () => {
    const store = honoStore();
    await using at = await start({ store, skipFailedRequests: true });
    expect(await statuses(`${at.url}/500`, 10)).toEqual(Array.from({ length: 10 }, () => 500));
    expect(await statuses(`${at.url}/200`, 10)).toEqual([200, 200, 200, ...Array.from({ length: 7 }, () => 429)]);
    expect((await store.get('a'))?.totalHits).toBe(3);
  });

  test('with skipSuccessfulRequests only failures count', async () => {
    const store = honoStore();
    await using at = await start({ store, skipSuccessfulRequests: true });
    expect(await statuses(`${at.url}/200`, 10)).toEqual(Array.from({ length: 10 }, () => 200));
    // It takes a refusal, which has no status yet when it asks, for a success: that must not make room.
    expect(await statuses(`${at.url}/401`, 10)).toEqual([401, 401, 401, ...Array.from({ length: 7 }, () => 429)]);
    expect((await store.get('a'))?.totalHits).toBe(3);
  });

  test('a limit of the request counts every hit', async () => {
    await using at = await start({ store: honoStore(), limit: async () => 2 });
    expect(await statuses(`${at.url}/200`, 3)).toEqual([200, 200, 429]);
  });

  test('messages of a WebSocket are limited as requests are', async () => {
    const store = honoStore();
    const closed: unknown[] = [];
    const seen: string[] = [];
    const limit = webSocketLimiter({ keyGenerator: () => 'a', windowMs: MINUTE, limit: 2, store });
    const context = { set: () => undefined } as unknown as Context;
    const ws = { close: (code: number) => void closed.push(code) } as unknown as WSContext;
    const events = await limit(() => ({ onMessage: () => void seen.push('message') }))(context);
    for (let i = 0; i < 3; i++) await events.onMessage?.(new MessageEvent('message'), ws);
    expect([seen.length, closed, (await store.get('a'))?.totalHits]).toEqual([2, [1008], 2]);
  });

  test('draft-7 headers are right', async () => {
    await using at = await start({ store: honoStore(), limit: 1, standardHeaders: 'draft-7' });
    expect((await fetch(`${at.url}/200`)).headers.get('ratelimit')).toBe('limit=1, remaining=0, reset=60');
    const refused = await fetch(`${at.url}/200`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
  });
});

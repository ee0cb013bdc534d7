import { memoryStore, type Store, slidingWindow, tokenBucket } from 'comporta';
import { rateLimit as expressLimit } from 'comporta/express';
import { rateLimit as fastifyLimit } from 'comporta/fastify';
import { withRateLimit } from 'comporta/fetch';
import type { RateLimitOptions } from 'comporta/http';
import express from 'express';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { items } from './parse.js';
import { portOf, type Received, send, serve, webListener } from './serve.js';
import { brokenStore, lateStore, ManualClock } from './stores.js';

/** Starts an application that answers `hello` everywhere, limited; resolves to its port. */
type Start = (options: RateLimitOptions) => Promise<number>;

const hello = 'hello';

const doors: Readonly<Record<string, Start>> = {
  express: async (options) => {
    const app = express();
    app.use(expressLimit(options));
    app.use((_request, response) => void response.send(hello));
    return serve(app);
  },
  fastify: async (options) => {
    const app = fastify();
    onTestFinished(() => app.close());
    await app.register(fastifyLimit, options);
    app.all('/*', async () => hello);
    await app.listen({ port: 0, host: '127.0.0.1' });
    return portOf(app);
  },
  fetch: async (options) => {
    const clientAddress = (_: Request, peer: string | undefined) => peer;
    return serve(webListener(withRateLimit(() => new Response(hello), { ...options, clientAddress })));
  },
};

const stores: Readonly<Record<string, () => Store>> = {
  'at once': () => memoryStore({ clock: new ManualClock() }),
  later: () => lateStore(new ManualClock()),
};

const everyDoor = Object.entries(doors).map(([name, start]) => ({ name, start }));
const everyWay = everyDoor.flatMap((door) => Object.entries(stores).map(([when, store]) => ({ ...door, when, store })));

test.each(everyWay)('$name: a store that answers $when admits the limit, then refuses', async ({ start, store }) => {
  const port = await start({ store: store(), limits: slidingWindow({ limit: 2, window: '10s' }) });
  const answers: Received[] = [];
  for (let i = 0; i < 3; i++) answers.push(await send(port));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(answers.map(({ headers }) => items(headers.ratelimit).default)).toEqual([
    { r: 1, t: 10 },
    { r: 0, t: 10 },
    { r: 0, t: 10 },
  ]);
  expect(answers[0]).toMatchObject({ body: hello, headers: { 'ratelimit-policy': '"default";q=2;w=10' } });
  expect(answers[2]?.headers).toMatchObject({ 'retry-after': '10', 'cache-control': 'no-store' });
});

test('a refusal is the same at every door, to the byte', async () => {
  const limits = tokenBucket({ capacity: 1, refill: 1, every: '8s' });
  const refusals: unknown[] = [];
  for (const { start } of everyDoor) {
    const port = await start({
      name: 'per-client',
      store: memoryStore({ clock: new ManualClock() }),
      limits,
      headers: ['draft-11', 'legacy'],
    });
    await send(port);
    const { status, headers, body } = await send(port);
    const {
      date: _date,
      Date: _,
      Connection: _c,
      connection: _d,
      'Keep-Alive': _k,
      'X-Powered-By': _x,
      ...fields
    } = headers;
    const { 'Content-Length': length, 'content-length': lower = length, 'Transfer-Encoding': _t, ...own } = fields;
    expect([undefined, `${Buffer.byteLength(body)}`]).toContain(lower);
    refusals.push({ status, body, own });
  }
  expect(refusals[0]).toMatchObject({
    status: 429,
    own: { 'content-type': 'application/problem+json', 'retry-after': '8' },
  });
  expect(refusals[1]).toEqual(refusals[0]);
  expect(refusals[2]).toEqual(refusals[0]);
});

test.each(everyDoor)('$name: HEAD is refused without a body, preflight passes uncounted', async ({ start }) => {
  const port = await start({
    limits: slidingWindow({ limit: 1, window: '10s' }),
    store: memoryStore({ clock: new ManualClock() }),
  });
  const headers = { origin: 'https://a.example', 'access-control-request-method': 'PUT' };
  for (let i = 0; i < 3; i++) expect((await send(port, '/', { method: 'OPTIONS', headers })).status).not.toBe(429);
  expect(await send(port, '/', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  expect(await send(port, '/', { method: 'HEAD' })).toMatchObject({ status: 429, body: '' });
});

test.each(everyDoor)('$name: an outage with closed is 503, the store’s words stay inside', async ({ start }) => {
  const port = await start({
    name: 'doors',
    limits: slidingWindow({ limit: 1, window: '10s' }),
    store: brokenStore(),
    onStoreFailure: 'closed',
  });
  const { status, headers, body } = await send(port);
  expect([status, headers['retry-after'], headers.ratelimit]).toEqual([503, '1', undefined]);
  expect(body).not.toContain('ECONNREFUSED');
});

test.each(everyDoor)(
  '$name: behind a trusted proxy the client is the one it names, whatever stands to its left',
  async ({ start }) => {
    const port = await start({
      limits: slidingWindow({ limit: 2, window: '10s' }),
      store: memoryStore({ clock: new ManualClock() }),
      trustedProxies: ['loopback'],
    });
    const from = async (value: string) => (await send(port, '/', { headers: { 'x-forwarded-for': value } })).status;
    expect(await from('1.1.1.1, 7.7.7.7')).toBe(200);
    expect(await from('2.2.2.2, 7.7.7.7:51234')).toBe(200);
    expect(await from('3.3.3.3, 7.7.7.7')).toBe(429);
    expect(await from('7.7.7.7, 8.8.8.8')).toBe(200);
  },
);

test.each(everyDoor)('$name: policies match by method, host and path in any spelling', async ({ start }) => {
  const match = { path: '/a/:id', methods: ['POST'], hosts: ['api.example.com'] };
  const policies = [{ name: 'a', match, key: 'path:id', limits: slidingWindow({ limit: 2, window: '10s' }) }];
  const port = await start({ policies, store: memoryStore({ clock: new ManualClock() }) });
  const headers = { host: 'api.example.com:8080' };
  const post = async (path: string) => (await send(port, path, { method: 'POST', headers })).status;
  expect([await post('/a/b'), await post('/A/%62/?x=1'), await post('/a/b;v=1')]).toEqual([200, 200, 429]);
  expect(await post('/a/c')).toBe(200);
  expect((await send(port, '/a/b', { headers })).status).toBe(200);
  expect((await send(port, '/a/b', { method: 'POST' })).status).toBe(200);
});

test.each(everyDoor)('$name: options are checked when the limiter is made', async ({ start }) => {
  await expect(start({ limits: slidingWindow({ limit: 2, window: '10s' }), limit: 5 } as never)).rejects.toThrow(
    expect.objectContaining({ code: 'ERR_OPTION', field: 'limit' }),
  );
  await expect(start(undefined as never)).rejects.toThrow();
});

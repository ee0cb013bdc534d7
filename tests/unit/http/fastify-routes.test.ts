import { once } from 'node:events';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type ComportaError, fixedWindow, memoryStore, slidingWindow } from 'comporta';
import { type FastifyOptions, type RouteRateLimit, rateLimit } from 'comporta/fastify';
import { faultyStore } from 'comporta/testing';
import fastify, { type FastifyInstance, type HTTPMethods } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { portOf, send } from './serve.js';
import { ManualClock } from './stores.js';

const store = () => memoryStore({ clock: new ManualClock() });
const limitOf = (limit: number) => slidingWindow({ limit, window: '10s' });
const own = (rateLimit: RouteRateLimit) => ({ config: { rateLimit } as object });
const hello = async () => 'hello';

async function start(app: FastifyInstance) {
  onTestFinished(() => app.close());
  await app.listen({ port: 0, host: '127.0.0.1' });
  const port = portOf(app);
  return async (path: string, method = 'GET'): Promise<number> => (await send(port, path, { method })).status;
}

async function limited(options: FastifyOptions): Promise<FastifyInstance> {
  const app = fastify();
  await app.register(rateLimit, options);
  return app;
}

test('limits of a route stand in the place of the plugin’s, and count for that route alone', async () => {
  const app = await limited({ limits: limitOf(1), store: store() });
  const both = own({ limits: limitOf(2) });
  app.get('/a', both, hello);
  app.get('/b', both, hello);
  app.post('/a', both, hello);
  app.get('/c', hello);
  const ask = await start(app);
  expect([await ask('/a'), await ask('/a'), await ask('/a')]).toEqual([200, 200, 429]);
  expect([await ask('/b'), await ask('/b'), await ask('/b')]).toEqual([200, 200, 429]);
  expect([await ask('/a', 'POST'), await ask('/a', 'POST'), await ask('/a', 'POST')]).toEqual([200, 200, 429]);
  expect([await ask('/c'), await ask('/c')]).toEqual([200, 429]);
});

test('HEAD counts with the GET of its route', async () => {
  const app = await limited({ limits: limitOf(9), store: store() });
  app.get('/a', own({ limits: limitOf(2) }), hello);
  const ask = await start(app);
  expect([await ask('/a', 'HEAD'), await ask('/a'), await ask('/a', 'HEAD')]).toEqual([200, 200, 429]);
});

test.each<[string, HTTPMethods[]]>([
  ['GET and POST', ['GET', 'POST']],
  ['POST and GET', ['POST', 'GET']],
])('HEAD counts with a route of %s, whichever is asked for first', async (_, method) => {
  const app = await limited({ limits: limitOf(9), store: store() });
  app.route({ method, url: '/a', ...own({ limits: limitOf(2) }), handler: hello });
  const ask = await start(app);
  expect([await ask('/a', 'HEAD'), await ask('/a', 'POST'), await ask('/a'), await ask('/a', 'HEAD')]).toEqual([
    200, 200, 429, 429,
  ]);
});

test('HEAD counts with its route also where that was made before the plugin', async () => {
  const app = fastify();
  void app.register(rateLimit, { limits: limitOf(9), store: store() });
  app.route({ method: ['GET', 'POST'], url: '/a', ...own({ limits: limitOf(1) }), handler: hello });
  const ask = await start(app);
  expect([await ask('/a', 'HEAD'), await ask('/a'), await ask('/a', 'POST')]).toEqual([200, 429, 429]);
});

test('routes of one URL that other things tell apart are counted apart', async () => {
  const app = await limited({ limits: limitOf(9), store: store() });
  const of = (host: string, limit: number) => ({ constraints: { host }, ...own({ limits: limitOf(limit) }) });
  app.get('/a', of('a.example', 1), hello);
  app.get('/a', of('b.example', 2), hello);
  const ask = async (host: string) => (await app.inject({ url: '/a', headers: { host } })).statusCode;
  expect([await ask('a.example'), await ask('b.example'), await ask('b.example'), await ask('a.example')]).toEqual([
    200, 200, 200, 429,
  ]);
});

test('a route keeps the plugin’s key and options, unless it has its own', async () => {
  const app = await limited({ limits: limitOf(9), store: store(), headers: 'legacy', key: 'query:user' });
  app.get('/same', own({ limits: limitOf(1) }), hello);
  app.get('/other', own({ limits: limitOf(1), key: ({ request }) => request.ip, headers: 'none' }), hello);
  const ask = await start(app);
  expect([await ask('/same?user=a'), await ask('/same?user=b'), await ask('/same?user=a')]).toEqual([200, 200, 429]);
  expect((await app.inject('/same?user=c')).headers['x-ratelimit-limit']).toBe('1');
  expect((await app.inject('/other?user=a')).headers).not.toHaveProperty('x-ratelimit-limit');
  expect(await ask('/other?user=b')).toBe(429);
});

test('policies of a route are all that apply to it', async () => {
  const app = await limited({ limits: limitOf(1), store: store(), key: 'header:x-user' });
  const policies = [
    { name: 'burst', limits: limitOf(2) },
    { name: 'day', key: 'global', limits: fixedWindow({ limit: 9, window: '1d' }) },
  ] as const;
  app.get('/a', own({ policies }), hello);
  const ask = await start(app);
  expect([await ask('/a'), await ask('/a'), await ask('/a')]).toEqual([200, 200, 429]);
  expect([...app.comporta.limiters.keys()]).toEqual(['default', 'burst', 'day']);
});

test('with global: false only routes that ask are limited, and paths that no route takes are not', async () => {
  const app = await limited({ global: false, limits: limitOf(1), store: store() });
  app.get('/free', hello);
  app.get('/asks', own(true), hello);
  app.get('/asks-too', own({ cost: 0 }), hello);
  app.get('/own', own({ limits: limitOf(1) }), hello);
  const ask = await start(app);
  expect([await ask('/free'), await ask('/free'), await ask('/nowhere'), await ask('/nowhere')]).toEqual([
    200, 200, 404, 404,
  ]);
  expect([await ask('/asks'), await ask('/asks-too'), await ask('/asks')]).toEqual([200, 200, 429]);
  expect([await ask('/own'), await ask('/own')]).toEqual([200, 429]);
});

test('with global: false the plugin needs no limits, and routes that bring some share its options', async () => {
  const app = await limited({ global: false, name: 'api', store: faultyStore(), timeoutMs: 5000 });
  app.get('/search/:word', own({ limits: limitOf(1) }), hello);
  app.get('/free', hello);
  const ask = await start(app);
  expect([await ask('/free'), await ask('/search/a'), await ask('/search/b')]).toEqual([200, 200, 429]);
  expect(app.comporta.gate).toBeUndefined();
  expect([...app.comporta.limiters.keys()]).toEqual([expect.stringMatching(/^api\.GET\.search\.word-[0-9a-f]{8}$/)]);
});

test('routes whose names would look alike, or would be too long, are counted apart', async () => {
  const app = await limited({ global: false, store: store() });
  const long = 'x'.repeat(80);
  const paths = ['/a/b', '/a.b', '/a/:b', `/${long}/1`, `/${long}/2`];
  for (const path of paths) app.get(path, own({ limits: limitOf(1) }), hello);
  const ask = await start(app);
  const asked = ['/a/b', '/a.b', '/a/c', `/${long}/1`, `/${long}/2`];
  for (const path of asked) expect([path, await ask(path), await ask(path)]).toEqual([path, 200, 429]);
  const names = [...app.comporta.limiters.keys()];
  expect(new Set(names).size).toBe(paths.length);
  expect(names[0]).toBe('default.GET.a.b');
  for (const name of names) expect(name.length).toBeLessThanOrEqual(64);
});

test('routes of one name count together', async () => {
  const app = await limited({ limits: limitOf(9) });
  app.get('/a', own({ name: 'group', limits: limitOf(2) }), hello);
  app.get('/b', own({ name: 'group', limits: limitOf(2) }), hello);
  const ask = await start(app);
  expect([await ask('/a'), await ask('/b'), await ask('/a'), await ask('/b')]).toEqual([200, 200, 429, 429]);
});

test.each<[string, unknown, string, string]>([
  ['another kind of value', 5, 'ERR_OPTION', 'rateLimit: expected false, true'],
  ['an unknown field', { limit: 5 }, 'ERR_OPTION', 'rateLimit.limit: has no meaning without limits'],
  ['a cost that is none', { cost: -1 }, 'ERR_OPTION', 'rateLimit.cost: expected a whole number'],
  ['an unknown field beside limits', { limits: limitOf(1), limit: 5 }, 'ERR_OPTION', 'limit: unknown'],
  ['limits that are none', { limits: 5 }, 'ERR_LIMIT', 'limits'],
])('a route with %s fails when it is made', async (_, rateLimit, code, message) => {
  const app = await limited({ limits: limitOf(1), store: store() });
  const error = expect.objectContaining({ code, message: expect.stringContaining(message) });
  expect(() => app.get('/a', { config: { rateLimit } as object }, hello)).toThrow(error);
  await app.close();
});

test.each<[string, object, string]>([
  ['global that is no boolean', { global: 'no', limits: limitOf(1) }, 'global: expected a boolean'],
  ['an unknown option and no limits', { global: false, limit: 5 }, 'limit: unknown'],
  ['no limits for all', {}, 'limits'],
])('a plugin with %s does not start', async (_, options, message) => {
  await expect(limited(options as FastifyOptions)).rejects.toThrow(message);
});

test('a route that asks for limits that are not there, or that need a name, fails when it is made', async () => {
  const app = await limited({ global: false, store: faultyStore() });
  expect(() => app.get('/a', own(true), hello)).toThrow('no limits to take');
  expect(() => app.get('/b', own({ limits: limitOf(1) }), hello)).toThrow('name: missing');
  await app.close();
});

test('a route that was made before the plugin has its limits, and wrong ones are reported and replaced', async () => {
  const errors: ComportaError[] = [];
  const app = fastify();
  void app.register(rateLimit, { limits: limitOf(1), store: store(), onError: (error) => void errors.push(error) });
  app.get('/right', own({ limits: limitOf(2) }), hello);
  app.get('/wrong', { config: { rateLimit: { limit: 2 } } as object }, hello);
  const ask = await start(app);
  expect([await ask('/right'), await ask('/right'), await ask('/right')]).toEqual([200, 200, 429]);
  expect([await ask('/wrong'), await ask('/wrong')]).toEqual([200, 429]);
  expect(errors.map(({ field }) => field)).toEqual(['rateLimit.limit', 'rateLimit.limit']);
});

test('registered in a scope, the plugin limits that scope, its children and what it does not find', async () => {
  const app = fastify();
  app.get('/outside', hello);
  app.register(
    async (scope) => {
      await scope.register(rateLimit, { limits: limitOf(3), store: store() });
      scope.setNotFoundHandler((_request, reply) => void reply.code(404).send('nothing'));
      scope.get('/inside', hello);
      scope.register(async (child) => void child.get('/child', hello));
    },
    { prefix: '/api' },
  );
  const ask = await start(app);
  const statuses = [await ask('/api/inside'), await ask('/api/child'), await ask('/api/nowhere')];
  expect([...statuses, await ask('/api/inside')]).toEqual([200, 200, 404, 429]);
  expect([await ask('/outside'), await ask('/nowhere')]).toEqual([200, 404]);
  expect('comporta' in app).toBe(false);
});

test('of two plugins around a route both count, and the inner one heeds its settings', async () => {
  const app = await limited({ name: 'outer', limits: limitOf(5), store: store() });
  app.register(async (scope) => {
    await scope.register(rateLimit, { name: 'inner', limits: limitOf(2), store: store() });
    scope.get('/dear', own({ cost: 2 }), hello);
    scope.get('/own', own({ limits: limitOf(1) }), hello);
    scope.get('/free', own(false), hello);
  });
  const ask = await start(app);
  const port = portOf(app);
  const { headers } = await send(port, '/dear');
  expect(headers.ratelimit).toMatch(/^"outer";r=4;t=10, "inner";r=0;t=10$/);
  expect([await ask('/own'), await ask('/own'), await ask('/free')]).toEqual([200, 429, 200]);
  expect(await app.comporta.limiters.get('outer')?.peek('ip=127.0.0.1')).toMatchObject({ binding: { remaining: 2 } });
  expect([...app.comporta.limiters.keys()]).toEqual(['outer']);
});

test('the application can look at, give back and reset what was counted', async () => {
  const app = await limited({ limits: limitOf(1), store: store() });
  app.get('/a', hello);
  app.get('/own', own({ name: 'own', limits: limitOf(1) }), hello);
  const ask = await start(app);
  expect([await ask('/a'), await ask('/a'), await ask('/own'), await ask('/own')]).toEqual([200, 429, 200, 429]);
  await app.comporta.gate?.limiters.get('default')?.reset('ip=127.0.0.1');
  await app.comporta.limiters.get('own')?.reset('ip=127.0.0.1');
  expect([await ask('/a'), await ask('/own')]).toEqual([200, 200]);
});

test('with hook: preHandler keys and costs may come from the body', async () => {
  const app = await limited({
    limits: limitOf(3),
    store: store(),
    hook: 'preHandler',
    key: ({ request }) => (request.body as { user?: string } | undefined)?.user,
    cost: ({ request }) => (request.body as { items: readonly unknown[] }).items.length,
  });
  app.post('/', hello);
  const post = async (user: string, items: readonly number[]) =>
    (await app.inject({ method: 'POST', url: '/', payload: { user, items } })).statusCode;
  expect([await post('a', [1, 2]), await post('a', [1, 2]), await post('b', [1, 2, 3])]).toEqual([200, 429, 200]);
  await app.close();
});

test('an application of HTTP/2 takes the plugin too', async () => {
  const app = fastify({ http2: true });
  await app.register(rateLimit, { limits: limitOf(1), store: store(), key: ({ request }) => request.url });
  app.get('/', own({ limits: limitOf(1) }), hello);
  onTestFinished(() => app.close());
  await app.listen({ port: 0, host: '127.0.0.1' });
  const client = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
  onTestFinished(() => client.destroy());
  const ask = async () => (await once(client.request({ ':path': '/' }).resume(), 'response'))[0][':status'];
  expect([await ask(), await ask()]).toEqual([200, 429]);
});

test('closing the application ends the gates of the routes, and not the store that was passed in', async () => {
  const shared = store();
  const app = await limited({ limits: limitOf(1), store: shared });
  app.get('/own', own({ name: 'own', limits: limitOf(1) }), hello);
  await app.ready();
  const limiter = app.comporta.limiters.get('own');
  await app.close();
  await expect(limiter?.consume('a')).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  await expect(shared.ping()).resolves.toBeUndefined();
});

import { memoryStore, slidingWindow } from 'comporta';
import { rateLimit } from 'comporta/fastify';
import type { RequestView, Verdict } from 'comporta/http';
import fastify, { type FastifyInstance } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { portOf, send } from './serve.js';
import { ManualClock } from './stores.js';

const store = () => memoryStore({ clock: new ManualClock() });
const limits = slidingWindow({ limit: 2, window: '10s' });

async function listen(app: FastifyInstance): Promise<number> {
  onTestFinished(() => app.close());
  await app.listen({ port: 0, host: '127.0.0.1' });
  return portOf(app);
}

test('the plugin limits routes outside its own scope, and requests that no route takes', async () => {
  const app = fastify();
  app.register(rateLimit, { limits, store: store() });
  app.register(async (scope) => {
    scope.get('/inside', async () => 'x');
  });
  const port = await listen(app);
  expect([
    (await send(port, '/inside')).status,
    (await send(port, '/nowhere')).status,
    (await send(port, '/inside')).status,
  ]).toEqual([200, 404, 429]);
});

test('a route can be left out, or cost more', async () => {
  const app = fastify();
  await app.register(rateLimit, { limits, store: store() });
  app.get('/free', { config: { rateLimit: false } }, async () => 'x');
  app.get('/dear', { config: { rateLimit: { cost: 2 } } }, async () => 'x');
  const port = await listen(app);
  for (let i = 0; i < 4; i++) expect((await send(port, '/free')).headers).not.toHaveProperty('ratelimit');
  expect([(await send(port, '/dear')).status, (await send(port, '/dear')).status]).toEqual([200, 429]);
});

test('the template of the route is known, and key functions get Fastify’s own request', async () => {
  const views: RequestView[] = [];
  const onVerdict = (_: Verdict, view: RequestView) => void views.push(view);
  const app = fastify();
  await app.register(rateLimit, {
    limits,
    store: store(),
    key: ({ request }) => `${request.hostname} ${(request.params as { id: string }).id}`,
    onVerdict,
  });
  app.get('/users/:id', async () => 'x');
  const port = await listen(app);
  const statuses: number[] = [];
  for (const path of ['/users/1', '/users/1', '/users/1', '/users/2']) statuses.push((await send(port, path)).status);
  expect(statuses).toEqual([200, 200, 429, 200]);
  expect(views[0]).toMatchObject({ route: '/users/:id', url: '/users/1' });
});

test('hooks that change replies see refusals too', async () => {
  const app = fastify();
  app.addHook('onSend', async (_request, reply) => void reply.header('access-control-allow-origin', '*'));
  await app.register(rateLimit, { limits: slidingWindow({ limit: 0, window: '10s' }), store: store() });
  const { status, headers } = await send(await listen(app));
  expect([status, headers['access-control-allow-origin']]).toEqual([429, '*']);
});

test('a reply that was sent already breaks nothing', async () => {
  const app = fastify();
  app.addHook('onRequest', (_request, reply, done) => {
    reply.hijack();
    reply.raw.end('mine');
    done();
  });
  await app.register(rateLimit, { limits: slidingWindow({ limit: 0, window: '10s' }), store: store() });
  app.get('/', async () => 'x');
  expect(await send(await listen(app))).toMatchObject({ status: 200, body: 'mine' });
});

test('requests injected without a socket are limited too', async () => {
  const app = fastify();
  await app.register(rateLimit, { limits, store: store() });
  app.get('/', async () => 'x');
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await app.inject('/')).statusCode);
  expect(statuses).toEqual([200, 200, 429]);
  await app.close();
});

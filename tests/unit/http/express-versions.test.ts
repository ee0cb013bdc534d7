import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { memoryStore, slidingWindow } from 'comporta';
import { rateLimit } from 'comporta/express';
import type { RequestView } from 'comporta/http';
import express5, { type Request } from 'express';
import { describe, expect, test } from 'vitest';
import { send, serve } from './serve.js';
import { ManualClock } from './stores.js';

const require = createRequire(import.meta.url);
const express4 = require('express4') as typeof express5;

const store = () => memoryStore({ clock: new ManualClock() });
const limitOf = (limit: number) => slidingWindow({ limit, window: '10s' });

describe.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('%s', (_, express) => {
  test('key, cost, count and allow functions get the request of Express without being told its type', async () => {
    const counted: unknown[] = [];
    const limiter = rateLimit({
      limits: limitOf(5),
      store: store(),
      key: ({ request }) => request.get('x-user'),
      cost: ({ request }) => (request.path === '/search' ? 5 : 1),
      count: ({ status, cost }, { request }) => {
        counted.push([request.route?.path, status]);
        return cost;
      },
      allow: ({ request }) => request.query.friend === 'yes',
    });
    const app = express().use(limiter);
    app.get('/search', (_request, response) => void response.send('found'));
    const port = await serve(app);
    const ask = async (path: string, user: string) => (await send(port, path, { headers: { 'x-user': user } })).status;
    expect([await ask('/search', 'a'), await ask('/search', 'a'), await ask('/search?friend=yes', 'a')]).toEqual([
      200, 429, 200,
    ]);
    expect(counted).toEqual([['/search', 200]]);
  });

  test('in a router the whole path counts, and in a route its template is known', async () => {
    const views: RequestView[] = [];
    const onVerdict = (_verdict: unknown, view: RequestView) => void views.push(view);
    const perUser = rateLimit({ match: { path: '/api/users/:id' }, key: 'path:id', limits: limitOf(2), onVerdict });
    const router = express.Router();
    router.get('/users/:id', perUser, (request, response) => void response.send(request.params.id));
    const port = await serve(express().use('/api', router));
    const statuses: number[] = [];
    for (const path of ['/api/users/1', '/api/users/1?x', '/api/users/1/', '/api/users/2']) {
      statuses.push((await send(port, path)).status);
    }
    expect(statuses).toEqual([200, 200, 429, 200]);
    expect(views[0]).toMatchObject({ method: 'GET', url: '/api/users/1', route: '/api/users/:id' });
  });

  test('errors of handlers, also of asynchronous ones, reach the error handler of the application', async () => {
    const app = express().use(rateLimit({ limits: limitOf(9), store: store() }));
    app.get('/now', () => {
      throw new Error('broken');
    });
    app.get('/later', (_request, _response, next) => void Promise.reject(new Error('broken')).catch(next));
    app.use((error: Error, _request: Request, response: express5.Response, _next: unknown) => {
      response.status(500).send(error.message);
    });
    const port = await serve(app);
    for (const path of ['/now', '/later'])
      expect(await send(port, path)).toMatchObject({ status: 500, body: 'broken' });
  });
});

test('a server of connect’s kind names its request', async () => {
  const limiter = rateLimit<IncomingMessage>({
    limits: limitOf(1),
    store: store(),
    key: ({ request }) => request.headersDistinct['x-user']?.[0],
  });
  const port = await serve((incoming, response) => limiter(incoming, response, () => response.end('hello')));
  expect([(await send(port)).status, (await send(port)).status]).toEqual([200, 429]);
});

test('what the request of Express does not have is an error of types', () => {
  // @ts-expect-error: the wrong name of a method
  const limiter = rateLimit({ limits: limitOf(1), key: ({ request }) => request.gett('x-user') });
  // @ts-expect-error: a cost is a number
  rateLimit({ limits: limitOf(1), cost: ({ request }) => request.path });
  // @ts-expect-error: a request of Node is none of Express
  const listener = (request: IncomingMessage, response: never) => limiter(request, response, () => undefined);
  expect(listener).toBeTypeOf('function');
});

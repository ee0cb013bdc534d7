import { memoryStore, slidingWindow } from 'comporta';
import type { RequestView } from 'comporta/http';
import { rateLimit } from 'comporta/koa';
import Koa from 'koa';
import { expect, test } from 'vitest';
import { send, serve } from './serve.js';
import { ManualClock } from './stores.js';

const store = () => memoryStore({ clock: new ManualClock() });
const limitOf = (limit: number) => slidingWindow({ limit, window: '10s' });

function quiet(): Koa {
  const app = new Koa();
  app.silent = true;
  return app;
}

test('middleware mounted before sees a refusal as any other answer, and may change it', async () => {
  const seen: unknown[] = [];
  const app = quiet();
  app.use(async (ctx, next) => {
    ctx.set('Access-Control-Allow-Origin', '*');
    await next();
    seen.push([ctx.status, ctx.type, typeof ctx.body]);
    if (ctx.status === 429) ctx.body = { sorry: true };
  });
  app.use(rateLimit({ limits: limitOf(0), store: store() }));
  const { status, headers, body } = await send(await serve(app.callback()));
  expect([status, headers['Access-Control-Allow-Origin'], body]).toEqual([429, '*', '{"sorry":true}']);
  expect(seen).toEqual([[429, 'application/problem+json', 'string']]);
});

test('a refusal takes the place of a body that was set before', async () => {
  const app = quiet();
  app.use((ctx, next) => {
    ctx.body = '<p>draft</p>';
    return next();
  });
  app.use(rateLimit({ limits: limitOf(0), store: store() }));
  const { status, headers, body } = await send(await serve(app.callback()));
  expect([status, headers['content-type'] ?? headers['Content-Type']]).toEqual([429, 'application/problem+json']);
  expect(JSON.parse(body)).toMatchObject({ status: 429 });
});

test('key, cost and count functions get Koa’s own context', async () => {
  const counted: unknown[] = [];
  const app = quiet();
  app.use(
    rateLimit({
      limits: limitOf(5),
      store: store(),
      key: ({ request: ctx }) => ctx.get('x-user'),
      cost: ({ request: ctx }) => (ctx.path === '/search' ? 5 : 1),
      count: ({ status, cost }, { request: ctx }) => {
        counted.push([ctx.method, ctx.status, status]);
        return cost;
      },
    }),
  );
  app.use((ctx) => {
    ctx.body = 'found';
  });
  const port = await serve(app.callback());
  const ask = async (path: string, user: string) => (await send(port, path, { headers: { 'x-user': user } })).status;
  expect([await ask('/search', 'a'), await ask('/', 'a'), await ask('/', 'b'), await ask('/search', 'b')]).toEqual([
    200, 429, 200, 429,
  ]);
  expect(counted).toEqual([
    ['GET', 200, 200],
    ['GET', 200, 200],
  ]);
});

test('mounted under a path the whole path counts, and in a router its template', async () => {
  const views: RequestView[] = [];
  const limiter = rateLimit({
    limits: limitOf(2),
    store: store(),
    match: { path: '/api/users/:id' },
    key: 'path:id',
    onVerdict: (_, view) => void views.push(view),
  });
  const app = quiet();
  app.use((ctx, next) => {
    // As koa-mount and @koa/router leave the context.
    ctx.path = ctx.path.slice('/api'.length);
    ctx._matchedRoute = '/api/users/:id';
    return limiter(ctx, next);
  });
  const port = await serve(app.callback());
  const statuses = [];
  for (const path of ['/api/users/1', '/api/users/1?x', '/api/users/1/', '/api/users/2']) {
    statuses.push((await send(port, path)).status);
  }
  expect(statuses).toEqual([404, 404, 429, 404]);
  expect(views[0]).toMatchObject({ url: '/api/users/1', route: '/api/users/:id', method: 'GET' });
});

test('a response that was sent already, or that goes past Koa, is left alone', async () => {
  const app = quiet();
  app.use((ctx, next) => {
    if (ctx.path === '/past') ctx.respond = false;
    ctx.res.end('mine');
    return next();
  });
  app.use(rateLimit({ limits: limitOf(0), store: store() }));
  const port = await serve(app.callback());
  for (const path of ['/sent', '/past']) expect(await send(port, path)).toMatchObject({ status: 404, body: 'mine' });
});

test('an error of a later handler goes to the error handler of the application', async () => {
  const app = quiet();
  const errors: unknown[] = [];
  app.on('error', (error) => void errors.push(error.message));
  app.use(rateLimit({ limits: limitOf(2), store: store() }));
  app.use(() => {
    throw new Error('broken');
  });
  const { status } = await send(await serve(app.callback()));
  expect([status, errors]).toEqual([500, ['broken']]);
});

test('mounted twice, a limiter counts once and says so; two limiters share one list', async () => {
  const messages: string[] = [];
  const outer = rateLimit({
    name: 'outer',
    limits: limitOf(9),
    store: store(),
    onError: ({ message }) => void messages.push(message),
  });
  const app = quiet().use(outer).use(outer);
  app.use(rateLimit({ name: 'inner', limits: limitOf(2), store: store() }));
  const { headers } = await send(await serve(app.callback()));
  expect(headers.ratelimit).toBe('"outer";r=8;t=10, "inner";r=1;t=10');
  expect(messages).toEqual([expect.stringContaining('counted once')]);
});

test('the context of an application with its own state fits', () => {
  interface State {
    readonly user: string;
  }
  const app = new Koa<State>();
  const limiter = rateLimit<Koa.ParameterizedContext<State>>({
    limits: limitOf(1),
    key: ({ request: ctx }) => ctx.state.user.toUpperCase(),
  });
  app.use(limiter);
  // @ts-expect-error: a context has no such member as a number
  rateLimit({ limits: limitOf(1), cost: ({ request: ctx }) => ctx.path });
  // @ts-expect-error: the wrong name of a method
  expect(() => rateLimit({ limits: limitOf(1), key: ({ request: ctx }) => ctx.req.urll, cost: -1 })).toThrow('cost');
});

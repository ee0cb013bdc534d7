import { getRequestListener } from '@hono/node-server';
import { memoryStore, slidingWindow } from 'comporta';
import { rateLimit } from 'comporta/hono';
import { adapterSuite, type StartApp } from 'comporta/testing';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/wait.js';
import { recorded } from './outcomes.js';
import { items } from './parse.js';
import { started, webListener } from './serve.js';
import { webAnswer } from './web-answer.js';

const limits = slidingWindow({ limit: 2, window: '10s' });
const url = 'http://a.example/';
const deno = { remoteAddr: { hostname: '203.0.113.9' } };

/** As Deno serves it: without anything of Node. */
const start: StartApp = async (options, answer) => {
  const app = new Hono().use(rateLimit(options)).all('*', (context) => webAnswer(answer(context.req.path)));
  return started(webListener(async (request, hostname) => app.fetch(request, { remoteAddr: { hostname } })));
};

describe('served without Node', () => {
  test.each(adapterSuite)('$name', ({ run }) => run(start));
});

test('on Node a text is sent as one, with its length, though its end is awaited', async () => {
  const { options, outcomes } = recorded();
  const app = new Hono().use(rateLimit(options)).get('/', (context) => context.text('hello'));
  const { url: address, close } = await started(getRequestListener(app.fetch));
  onTestFinished(close);
  const response = await fetch(address);
  expect([response.headers.get('content-length'), await response.text()]).toEqual(['5', 'hello']);
  await until(() => outcomes.length > 0, { what: 'the end of the response' });
  expect(outcomes).toEqual([{ status: 200, aborted: false }]);
});

test('the address comes from the place of each of Hono’s servers', async () => {
  const { options, subjects } = recorded();
  const app = new Hono().use(rateLimit(options)).get('/', (context) => context.text('x'));
  const requestIP = () => ({ address: '203.0.113.2' });
  const environments = [
    deno,
    { requestIP },
    { server: { requestIP } },
    { incoming: { socket: { remoteAddress: '203.0.113.3' } } },
    { server: { incoming: { socket: { remoteAddress: '203.0.113.4' } } } },
    { context: { ip: '203.0.113.5' } },
  ];
  for (const env of environments) await app.fetch(new Request(url), env);
  expect(subjects).toEqual([9, 2, 2, 3, 4, 5].map((last) => `ip=203.0.113.${last}`));
});

test('a named platform says who the client is', async () => {
  const { options, subjects } = recorded();
  const app = new Hono().use(rateLimit({ ...options, clientAddress: 'cloudflare' }));
  await app.fetch(new Request(url, { headers: { 'cf-connecting-ip': '203.0.113.7' } }), {});
  expect(subjects).toEqual(['ip=203.0.113.7']);
});

test('key functions get the context of the application, with its own variables', async () => {
  const { options, subjects } = recorded();
  type Own = { Variables: { user: string } };
  const app = new Hono<Own>();
  app.use(async (context, next) => {
    context.set('user', context.req.query('user') ?? 'nobody');
    await next();
  });
  app.use(rateLimit<Own>({ ...options, key: ({ request }) => request.var.user }));
  // @ts-expect-error The application has no such variable.
  app.use(rateLimit<Own>({ limits, key: ({ request }) => request.var.tenant, allow: () => true }));
  app.use(rateLimit({ limits, key: ({ request }) => request.req.query('user') ?? '', allow: () => true }));
  await app.request('/?user=ada');
  expect(subjects).toEqual(['key=ada']);
});

test('the template of the handler is the route; patterns of middleware are none', async () => {
  const { options, routes } = recorded();
  const app = new Hono().use(rateLimit(options)).get('/users/:id', (context) => context.text('x'));
  await app.fetch(new Request(`${url}users/5`), deno);
  await app.fetch(new Request(`${url}other`), deno);
  expect(routes).toEqual(['/users/:id', undefined]);
});

test('what others set before stays on answers and refusals, cookies too, and lists are joined', async () => {
  const store = memoryStore();
  const app = new Hono();
  app.use(async (context, next) => {
    context.header('x-before', 'yes');
    context.header('set-cookie', 'a=1');
    await next();
    context.header('x-after', 'yes');
  });
  app.use(rateLimit({ name: 'outer', limits, store }));
  app.use(rateLimit({ name: 'inner', limits: slidingWindow({ limit: 1, window: '10s' }), store }));
  app.get('/', (context) => {
    context.header('set-cookie', 'b=2', { append: true });
    return context.text('x', 201);
  });
  const [passed, refused] = [await app.fetch(new Request(url), deno), await app.fetch(new Request(url), deno)];
  expect([passed.status, refused.status]).toEqual([201, 429]);
  for (const { headers } of [passed, refused]) {
    expect([headers.get('x-before'), headers.get('x-after')]).toEqual(['yes', 'yes']);
    expect(Object.keys(items(headers.get('ratelimit')))).toEqual(['inner', 'outer']);
  }
  expect(passed.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
});

test('an error ends with the status that the application answers it with', async () => {
  const { options, outcomes } = recorded();
  const app = new Hono().use(rateLimit(options));
  app.get('/gone', () => {
    throw new HTTPException(410);
  });
  app.get('/broken', () => {
    throw new Error('mine');
  });
  app.onError((error, context) => (error instanceof HTTPException ? error.getResponse() : context.text('x', 503)));
  for (const path of ['gone', 'broken', 'missing']) await (await app.fetch(new Request(url + path), deno)).text();
  expect(outcomes.map(({ status }) => status)).toEqual([410, 503, 404]);
});

test('an upgraded connection has ended, and its response is passed on untouched', async () => {
  const { options, outcomes } = recorded();
  const upgrade = Object.defineProperty(new Response(null), 'status', { value: 101 });
  const app = new Hono().use(rateLimit(options)).get('/', () => upgrade);
  expect(await app.fetch(new Request(url), deno)).toBe(upgrade);
  expect(outcomes).toEqual([{ status: 101, aborted: false }]);
});

test('what is left to do after the response keeps a function awake', async () => {
  const { options, outcomes } = recorded();
  const app = new Hono().use(rateLimit(options)).get('/', (context) => context.text('x'));
  const work: Promise<unknown>[] = [];
  const context = { waitUntil: (promise: Promise<unknown>) => void work.push(promise), passThroughOnException() {} };
  const response = await app.fetch(new Request(url), deno, { ...context, props: {} });
  expect([work.length, outcomes.length]).toEqual([1, 0]);
  await response.text();
  await work[0];
  expect(outcomes).toEqual([{ status: 200, aborted: false }]);
});

test('wrong options are told when the middleware is made', () => {
  expect(() => rateLimit({ limits, clientAddress: 'nowhere' as never })).toThrow(/clientAddress: expected a function/);
  expect(() => rateLimit({ limits, colour: 'red' } as never)).toThrow(/colour: unknown/);
});

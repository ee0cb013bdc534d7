import { getRequestListener } from '@hono/node-server';
import { concurrency, fixedWindow, memoryStore, slidingWindow } from 'comporta';
import { rateLimit as h3Limit } from 'comporta/h3';
import { rateLimit } from 'comporta/hono';
import { H3, type H3Event } from 'h3';
import { toNodeHandler } from 'h3/node';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { items } from './parse.js';
import { send, serve } from './serve.js';
import { ManualClock } from './stores.js';

// What web frameworks leave to Node where it serves them: the fields and the end of a response.
const store = () => memoryStore({ clock: new ManualClock() });
const of = (name: string, limit: number, headers?: 'legacy') => ({
  name,
  limits: slidingWindow({ limit, window: '10s' }),
  store: store(),
  ...(headers && { headers }),
});
const lower = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

describe('Hono', () => {
  const start = (app: Hono): Promise<number> => serve(getRequestListener(app.fetch));

  test('the refusal of an inner limiter keeps what the outer one says', async () => {
    const app = new Hono().use(rateLimit(of('outer', 10))).use(rateLimit(of('inner', 1)));
    const port = await start(app.get('/', (c) => c.text('hello')));
    await send(port);
    const { status, headers } = await send(port);
    expect(status).toBe(429);
    expect(items(lower(headers).ratelimit)).toMatchObject({ outer: { r: 8 }, inner: { r: 0 } });
  });

  test('the fields of a response that a handler passes on are joined with ours', async () => {
    const app = new Hono().use(rateLimit(of('own', 5)));
    const fields = { RateLimit: '"upstream";r=999', 'RateLimit-Policy': '"upstream";q=1000' };
    app.get('/raw', () => new Response('hello', { headers: fields }));
    app.get('/made', (c) => c.text('hello', 200, fields));
    const port = await start(app);
    for (const [path, r] of [
      ['/raw', 4],
      ['/made', 3],
    ] as const) {
      const headers = lower((await send(port, path)).headers);
      expect(items(headers.ratelimit)).toMatchObject({ upstream: { r: 999 }, own: { r } });
      expect(Object.keys(items(headers['ratelimit-policy']))).toEqual(['upstream', 'own']);
    }
  });

  test('of fields with room for one limit the stricter one stays', async () => {
    const app = new Hono().use(rateLimit(of('own', 1, 'legacy')));
    app.get('/loose', (c) => c.text('hello', 200, { 'X-RateLimit-Remaining': '500', 'X-RateLimit-Limit': '1000' }));
    const loose = lower((await send(await start(app), '/loose')).headers);
    expect(loose).toMatchObject({ 'x-ratelimit-remaining': '0', 'x-ratelimit-limit': '1' });
    const strict = new Hono().use(rateLimit(of('own', 10, 'legacy')));
    strict.get('/', (c) => c.text('hello', 200, { 'x-ratelimit-remaining': '1', 'x-ratelimit-limit': '2' }));
    expect(lower((await send(await start(strict))).headers)).toMatchObject({ 'x-ratelimit-remaining': '1' });
  });

  test('a request that a handler makes of its own application is settled by its own response', async () => {
    const limits = fixedWindow({ limit: 3, window: '1h' });
    const login = rateLimit({ name: 'login', limits, count: 'failures', key: 'global', store: store() });
    let tried = 0;
    const app = new Hono();
    app.use('/login', login).post('/login', (c) => {
      tried++;
      return c.text('wrong', 401);
    });
    app.get('/batch', async (c) => {
      for (let i = 0; i < 3; i++) await (await app.request('/login', { method: 'POST' }, c.env)).text();
      return c.text('done');
    });
    const port = await start(app);
    for (let i = 0; i < 4; i++) expect((await send(port, '/batch')).status).toBe(200);
    expect(tried).toBe(3);
  });

  test('such a request gives its place back, and tells the outer client nothing', async () => {
    const places = rateLimit({ name: 'places', limits: concurrency({ limit: 2 }), store: store() });
    const own = rateLimit(of('own', 9));
    const app = new Hono();
    app.use('/inner', places, own).get('/inner', (c) => c.text('hello'));
    app.use('/outer', rateLimit(of('outer', 5))).get('/outer', async (c) => {
      const statuses = [];
      for (let i = 0; i < 4; i++) {
        const response = await app.request('/inner', {}, c.env);
        await response.text();
        statuses.push(response.status);
      }
      return c.json(statuses);
    });
    const { body, headers } = await send(await start(app), '/outer');
    expect(JSON.parse(body)).toEqual([200, 200, 200, 200]);
    expect(Object.keys(items(lower(headers).ratelimit))).toEqual(['outer']);
  });

  test('bindings that only look like those of Node harm nobody', async () => {
    const app = new Hono().use(rateLimit({ ...of('own', 2), limits: concurrency({ limit: 1 }) }));
    app.get('/', (c) => c.text('hello'));
    for (let i = 0; i < 3; i++) {
      const response = await app.request('/', {}, { incoming: {}, outgoing: {} });
      expect(await response.text()).toBe('hello');
    }
  });
});

describe('h3', () => {
  test('refusals of inner limiters and fields of handlers are joined with what the outer one says', async () => {
    const app = new H3().use(h3Limit(of('outer', 10)));
    app.use('/inner/**', h3Limit(of('inner', 0)));
    app.get('/inner/a', () => 'hello');
    app.get('/passed', (_: H3Event) => new Response('hello', { headers: { ratelimit: '"upstream";r=9' } }));
    const port = await serve(toNodeHandler(app));
    const refused = await send(port, '/inner/a');
    expect(refused.status).toBe(429);
    expect(items(lower(refused.headers).ratelimit)).toMatchObject({ outer: { r: 9 }, inner: { r: 0 } });
    const passed = lower((await send(port, '/passed')).headers);
    expect(items(passed.ratelimit)).toMatchObject({ outer: { r: 8 }, upstream: { r: 9 } });
  });
});

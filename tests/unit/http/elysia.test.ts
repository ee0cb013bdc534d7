import { memoryStore, slidingWindow } from 'comporta';
import { rateLimit } from 'comporta/elysia';
import { Elysia } from 'elysia';
import { expect, test } from 'vitest';
import { recorded } from './outcomes.js';
import { items } from './parse.js';

const limits = slidingWindow({ limit: 2, window: '10s' });
const get = (path = '/') => Object.assign(new Request(`http://a.example${path}`), { ip: '203.0.113.9' });

test('the address is that of the outermost application’s server, of srvx, or of a named platform', async () => {
  const { options, subjects } = recorded();
  const part = new Elysia().use(rateLimit(options)).get('/', 'x');
  const app = new Elysia().use(part);
  app.server = { requestIP: () => ({ address: '203.0.113.1' }) } as never;
  await app.handle(new Request('http://a.example/'));
  await new Elysia().use(rateLimit(options)).handle(get());
  const named = new Elysia().use(rateLimit({ ...options, clientAddress: 'cloudflare' }));
  await named.handle(new Request('http://a.example/', { headers: { 'cf-connecting-ip': '203.0.113.3' } }));
  expect(subjects).toEqual([1, 9, 3].map((last) => `ip=203.0.113.${last}`));
});

test('the application keeps its types, and key functions get the request', async () => {
  const { options, subjects } = recorded();
  const app = new Elysia()
    .decorate('greeting', 'hello')
    .use(rateLimit({ ...options, key: ({ request }) => request.headers.get('x-user') ?? 'nobody' }))
    // @ts-expect-error Requests have no such field.
    .use(rateLimit({ limits, key: ({ request }) => request.colour, allow: () => true }))
    .get('/:id', ({ greeting, params }) => `${greeting} ${params.id satisfies string}`);
  const request = new Request('http://a.example/5', { headers: { 'x-user': 'ada' } });
  expect(await (await app.handle(request)).text()).toBe('hello 5');
  expect(subjects).toEqual(['key=ada']);
});

test('fields are on answers of every kind, on errors and on refusals, beside those of others', async () => {
  const app = new Elysia()
    .headers({ 'x-before': 'yes' })
    .use(rateLimit({ name: 'outer', limits: slidingWindow({ limit: 5, window: '10s' }), store: memoryStore() }))
    .get('/text', 'x')
    .get('/json', () => ({ a: 1 }))
    .get('/error', ({ status }) => status(418, 'tea'))
    .get('/broken', () => {
      throw new Error('mine');
    });
  const paths = ['/text', '/json', '/error', '/broken', '/missing', '/text'];
  const answers = [];
  for (const path of paths) answers.push(await app.handle(get(path)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 418, 500, 404, 429]);
  for (const { headers } of answers) expect(Object.keys(items(headers.get('ratelimit')))).toEqual(['outer']);
  expect(answers[0]?.headers.get('x-before')).toBe('yes');
  expect(answers[5]?.headers.get('content-type')).toBe('application/problem+json');
});

test('every answer ends once with its status, streams when they end', async () => {
  const { options, outcomes } = recorded();
  const app = new Elysia()
    .use(rateLimit(options))
    .get('/text', 'x')
    .get('/stream', () => new Blob(['a', 'b']).stream())
    .get('/broken', () => {
      throw new Error('mine');
    });
  for (const path of ['/text', '/broken', '/missing']) await (await app.handle(get(path))).text();
  expect(outcomes).toEqual([200, 500, 404].map((status) => ({ status, aborted: false })));
  const response = await app.handle(get('/stream'));
  expect(outcomes).toHaveLength(3);
  expect(await response.text()).toBe('ab');
  expect(outcomes[3]).toEqual({ status: 200, aborted: false });
});

test('two limiters both count, also after a plugin that wraps the application as well', async () => {
  const [first, second] = [recorded(), recorded()];
  const other = new Elysia().wrap((handle) => handle as never);
  const app = new Elysia()
    .use(rateLimit({ ...first.options, name: 'first' }))
    .use(rateLimit({ ...second.options, name: 'second' }))
    .use(other)
    .use(new Elysia().wrap((handle) => handle as never))
    .get('/', 'x');
  const { headers } = await app.handle(get());
  expect([first.subjects.length, second.subjects.length]).toEqual([1, 1]);
  expect(Object.keys(items(headers.get('ratelimit')))).toHaveLength(2);
});

test('a limiter of a part that is used twice counts a request once', async () => {
  const { options, subjects } = recorded();
  const part = new Elysia().use(rateLimit({ ...options, onError: () => undefined }));
  const app = new Elysia().use(part).use(new Elysia({ prefix: '/a' }).use(part).get('/', 'x'));
  await app.handle(get('/a'));
  expect(subjects).toHaveLength(1);
});

test('where Elysia would leave the limiter out it refuses to be used', () => {
  expect(() => new Elysia({ aot: false }).use(rateLimit({ limits }))).toThrow(/aot: without it/);
});

test('the gate ends when the application stops', async () => {
  const plugin = rateLimit({ limits });
  const app = new Elysia().use(plugin);
  await Promise.all((app.event.stop ?? []).map(({ fn }) => fn(app as never)));
  expect(
    await plugin.gate.limiters
      .get('default')
      ?.consume('a')
      .catch((error: { code: string }) => error.code),
  ).toBe('ERR_CLOSED');
});

test('wrong options are told when the plugin is made', () => {
  expect(() => rateLimit({ limits, clientAddress: 5 as never })).toThrow(/clientAddress: expected a function/);
  expect(() => rateLimit({ limits, colour: 'red' } as never)).toThrow(/colour: unknown/);
});

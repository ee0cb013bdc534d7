import { memoryStore, slidingWindow } from 'comporta';
import { rateLimit } from 'comporta/h3';
import { adapterSuite, type StartApp } from 'comporta/testing';
import { H3, HTTPError, HTTPResponse, html } from 'h3';
import { describe, expect, test } from 'vitest';
import { recorded } from './outcomes.js';
import { items } from './parse.js';
import { started, webListener } from './serve.js';
import { webAnswer } from './web-answer.js';

const limits = slidingWindow({ limit: 2, window: '10s' });
const get = (path = '/') => Object.assign(new Request(`http://a.example${path}`), { ip: '203.0.113.9' });

/** As other runtimes than Node serve it. */
const start: StartApp = async (options, answer) => {
  const app = new H3().use(rateLimit(options)).all('/**', ({ url }) => webAnswer(answer(url.pathname)));
  return started(webListener(async (request, ip) => app.fetch(Object.assign(request, { ip }))));
};

describe('served without Node', () => {
  test.each(adapterSuite)('$name', ({ run }) => run(start));
});

test('the address is what h3 itself knows: its server’s, or that of a layer in front', async () => {
  const { options, subjects } = recorded();
  const app = new H3().use(rateLimit(options)).get('/', () => 'x');
  await app.fetch(get());
  await app.fetch(Object.assign(get(), { context: { clientAddress: '203.0.113.2' } }));
  const named = new H3().use(rateLimit({ ...options, clientAddress: 'fly' })).get('/', () => 'x');
  await named.fetch(new Request('http://a.example/', { headers: { 'fly-client-ip': '203.0.113.3' } }));
  expect(subjects).toEqual([9, 2, 3].map((last) => `ip=203.0.113.${last}`));
});

test('key functions get the event, with its parameters, and the template of its route', async () => {
  const { options, subjects, routes } = recorded();
  const app = new H3().use(rateLimit({ ...options, key: ({ request }) => request.context.params?.id ?? 'none' }));
  // @ts-expect-error Events have no such field.
  app.use(rateLimit({ limits, key: ({ request }) => request.colour, allow: () => true }));
  app.get('/users/:id', () => 'x');
  await app.fetch(get('/users/5'));
  await app.fetch(get('/other'));
  expect(subjects).toEqual(['key=5', 'key=none']);
  expect(routes).toEqual(['/users/:id', undefined]);
});

test('fields are on answers of every kind, on errors and on refusals, beside those of others', async () => {
  const store = memoryStore();
  const app = new H3();
  app.use((event) => {
    event.res.headers.set('x-before', 'yes');
  });
  app.use(rateLimit({ name: 'outer', limits: slidingWindow({ limit: 9, window: '10s' }), store }));
  app.use(rateLimit({ name: 'inner', limits: slidingWindow({ limit: 6, window: '10s' }), store }));
  app.get('/text', () => 'x').get('/json', () => ({ a: 1 }));
  app.get('/web', () => new Response('x', { status: 201 })).get('/html', () => html`<p>`);
  app.get('/error', () => {
    throw new HTTPError({ status: 418 });
  });
  const paths = ['/text', '/json', '/web', '/html', '/error', '/missing', '/text'];
  const answers = [];
  for (const path of paths) answers.push(await app.fetch(get(path)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 200, 418, 404, 429]);
  for (const { headers } of answers) {
    expect(Object.keys(items(headers.get('ratelimit')))).toEqual(['outer', 'inner']);
  }
  expect(answers[0]?.headers.get('x-before')).toBe('yes');
  expect(answers[1]?.headers.get('content-type')).toContain('application/json');
  expect(answers[6]?.headers.get('content-type')).toBe('application/problem+json');
});

test('every kind of answer ends once with its status, and errors stay the application’s to answer', async () => {
  const { options, outcomes } = recorded();
  const app = new H3({ onError: (error) => new Response(`own ${error.status}`, { status: error.status }) });
  app.use(rateLimit(options));
  app.get('/text', () => 'x').get('/empty', () => null);
  app.get('/made', ({ res }) => {
    res.status = 202;
    return { a: 1 };
  });
  app.get('/error', () => {
    throw new HTTPError({ status: 418 });
  });
  app.get('/returned', () => new HTTPError({ status: 409 }));
  app
    .get('/html', () => html`<p>`)
    .get('/odd', ({ res }) => {
      res.status = 7000;
      return { status: 500 };
    });
  const bodies = [];
  for (const path of ['/text', '/empty', '/made', '/error', '/returned', '/missing', '/html', '/odd']) {
    bodies.push(await (await app.fetch(get(path))).text());
  }
  expect(bodies).toEqual(['x', '', '{"a":1}', 'own 418', 'own 409', 'own 404', '<p>', '{"status":500}']);
  const statuses = [200, 200, 202, 418, 409, 404, 200, 200];
  expect(outcomes).toEqual(statuses.map((status) => ({ status, aborted: false })));
});

test('a stream of any kind ends when it has been sent, with the status and the fields that h3 gives it', async () => {
  const { options, outcomes } = recorded();
  const bytes = () => new Blob(['a', 'b']).stream();
  const app = new H3().use(rateLimit(options));
  app.get('/plain', ({ res }) => {
    res.status = 206;
    res.headers.set('x-own', 'yes');
    return bytes();
  });
  app.get('/wrapped', () => new HTTPResponse(bytes(), { status: 203, headers: { 'x-own': 'yes' } }));
  for (const [path, status] of Object.entries({ '/plain': 206, '/wrapped': 203 })) {
    const response = await app.fetch(get(path));
    const told = outcomes.length;
    expect([response.status, response.headers.get('x-own')]).toEqual([status, 'yes']);
    expect(await response.text()).toBe('ab');
    expect(outcomes.slice(told)).toEqual([{ status, aborted: false }]);
  }
});

test('what is left to do after the response keeps a function awake', async () => {
  const { options, outcomes } = recorded();
  const app = new H3().use(rateLimit(options)).get('/', () => new Response('x'));
  const work: Promise<unknown>[] = [];
  const waitUntil = (promise: Promise<unknown>) => void work.push(promise);
  const response = await app.fetch(Object.assign(get(), { waitUntil }));
  expect([work.length, outcomes.length]).toEqual([1, 0]);
  await response.text();
  await work[0];
  expect(outcomes).toEqual([{ status: 200, aborted: false }]);
});

test('wrong options are told when the middleware is made', () => {
  expect(() => rateLimit({ limits, clientAddress: 5 as never })).toThrow(/clientAddress: expected a function/);
  expect(() => rateLimit({ limits, colour: 'red' } as never)).toThrow(/colour: unknown/);
});

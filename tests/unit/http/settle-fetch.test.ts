import { once } from 'node:events';
import { createServer } from 'node:http';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { fixedWindow, memoryStore, type Store } from 'comporta';
import { rateLimit } from 'comporta/fastify';
import { type FetchOptions, withRateLimit } from 'comporta/fetch';
import { createGate, type Outcome } from 'comporta/http';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/wait.js';
import { view } from '../identity/view.js';
import { portOf, send } from './serve.js';

const limits = fixedWindow({ limit: 100, window: '1d', align: 'first-hit' });

/** What a store holds for the only client of a test. */
async function usedIn(store: Store): Promise<number> {
  const gate = createGate({ store, policies: [{ name: 'p', limits }] });
  const decision = await gate.limiters.get('p')?.peek('ip=203.0.113.9');
  return 100 - (decision?.limits[0]?.remaining ?? Number.NaN);
}

/** A handler behind a limiter whose requests cost 10 and in the end what `count` says. */
function setUp(handle: (request: Request) => Response | Promise<Response>) {
  const outcomes: Outcome[] = [];
  const store = memoryStore();
  const options = {
    name: 'p',
    limits,
    store,
    cost: 10,
    count: ({ status, aborted }: Outcome) => {
      outcomes.push({ status, aborted });
      return aborted || status >= 400 ? 3 : 0;
    },
    clientAddress: () => '203.0.113.9',
  } satisfies FetchOptions<[]> & { clientAddress: () => string };
  return { ask: withRateLimit(handle, options), outcomes, used: () => usedIn(store) };
}

const ask = (init: RequestInit = {}) => new Request('http://a/', init);

/** Parts that are made one by one, when they are asked for. */
function parts(count: number, made: { count: number; cancelled?: unknown }, filling = '') {
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (made.count === count) return controller.close();
        controller.enqueue(new TextEncoder().encode(`${made.count++};${filling}`));
      },
      cancel(reason) {
        made.cancelled = reason;
      },
    },
    { highWaterMark: 0 },
  );
}

test('a response is settled when its body has been read to the end, and reads as it was', async () => {
  const made = { count: 0 };
  const headers = { 'content-type': 'text/x', 'set-cookie': 'a=1' };
  const handler = setUp(() => new Response(parts(3, made), { status: 201, statusText: 'Made', headers }));
  const response = await handler.ask(ask());
  await new Promise((resolve) => setImmediate(resolve));
  expect([made.count, handler.outcomes], 'nothing is read ahead').toEqual([0, []]);
  expect([response.status, response.statusText]).toEqual([201, 'Made']);
  expect(Object.fromEntries(response.headers)).toMatchObject({ ...headers, ratelimit: expect.any(String) });
  expect(await response.text()).toBe('0;1;2;');
  expect(handler.outcomes).toEqual([{ status: 201, aborted: false }]);
  await until(async () => (await handler.used()) === 0, { what: 'the charge given back' });
});

test('a body that is cancelled half way is an abort, and its source hears of it', async () => {
  const made: { count: number; cancelled?: unknown } = { count: 0 };
  const handler = setUp(() => new Response(parts(3, made)));
  const reader = (await handler.ask(ask())).body?.getReader();
  await reader?.read();
  await reader?.cancel('enough');
  expect([made.count, made.cancelled]).toEqual([1, 'enough']);
  expect(handler.outcomes).toEqual([{ status: 200, aborted: true }]);
  await until(async () => (await handler.used()) === 3, { what: 'the correction' });
});

test('a body that breaks is an abort, and its reader hears of it', async () => {
  const broken = new ReadableStream({
    pull: () => {
      throw new Error('disk gone');
    },
  });
  const handler = setUp(() => new Response(broken));
  await expect((await handler.ask(ask())).text()).rejects.toThrow('disk gone');
  expect(handler.outcomes).toEqual([{ status: 200, aborted: true }]);
});

test.each([
  ['without a body', 'GET', () => new Response(null, { status: 204 }), 204],
  ['to HEAD', 'HEAD', () => new Response('x', { status: 404 }), 404],
  ['that redirects', 'GET', () => Response.redirect('http://a/b'), 302],
])('a response %s is settled at once', async (_, method, handle, status) => {
  const handler = setUp(handle);
  const response = await handler.ask(ask({ method }));
  expect(handler.outcomes).toEqual([{ status, aborted: false }]);
  expect(response.status).toBe(status);
});

test('a handler that throws has failed, and its error goes on', async () => {
  const handler = setUp(() => {
    throw new Error('broken');
  });
  await expect(handler.ask(ask())).rejects.toThrow('broken');
  expect(handler.outcomes).toEqual([{ status: 500, aborted: false }]);
});

test.each(['before', 'while'])('a request whose signal aborts %s the handler runs is settled once', async (when) => {
  const controller = new AbortController();
  if (when === 'before') controller.abort();
  const handler = setUp(async () => {
    controller.abort();
    return new Response('late');
  });
  const response = await handler.ask(ask({ signal: controller.signal }));
  expect(await response.text()).toBe('late');
  expect(handler.outcomes).toEqual([{ status: 0, aborted: true }]);
});

test('without anything to settle the response of the handler itself is passed on', async () => {
  const own = new Response('x');
  const handler = withRateLimit(() => own, { limits, clientAddress: () => '203.0.113.9' });
  expect(await handler(ask())).toBe(own);
});

test('over real connections, a client that leaves a streamed response is an abort', async () => {
  const made = { count: 0 };
  const handler = setUp(() => new Response(parts(1_000_000, made, 'x'.repeat(65_536))));
  const server = createServer(async (_, outgoing) => {
    const response = await handler.ask(ask());
    const body = Readable.fromWeb(response.body as never);
    body.on('error', () => undefined).pipe(outgoing);
    outgoing.on('close', () => body.destroy());
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await until(() => server.listening, { what: 'the server' });
  const controller = new AbortController();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const response = await fetch(url, { signal: controller.signal });
  await response.body?.getReader().read();
  controller.abort();
  await until(() => handler.outcomes.length === 1, { what: 'the end of the response' });
  expect(handler.outcomes).toEqual([{ status: 200, aborted: true }]);
  expect(made.count).toBeLessThan(1_000_000);
});

test.each(['onRequest', 'preHandler'] as const)('Fastify settles after the response with hook %s', async (hook) => {
  const app = fastify();
  onTestFinished(() => app.close());
  const store = memoryStore();
  await app.register(rateLimit, { name: 'p', limits, store, key: () => 'a', count: 'failures', hook });
  app.get('/good', async () => 'x');
  app.get('/bad', async (_, reply) => reply.code(422).send('x'));
  app.get('/throw', async () => {
    throw new Error('broken');
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  for (const path of ['/good', '/bad', '/throw', '/good', '/missing']) await send(portOf(app), path);
  const gate = createGate({ store, policies: [{ name: 'p', limits }] });
  const left = async () => (await gate.limiters.get('p')?.peek('key=a'))?.limits[0]?.remaining;
  await until(async () => (await left()) === 97, { what: 'the three failures' });
});

test('over HTTP/2 a whole response is a success, and one that the client cancels an abort', async () => {
  const app = fastify({ http2: true });
  onTestFinished(() => app.close());
  const outcomes: Outcome[] = [];
  const count = ({ status, aborted }: Outcome) => outcomes.push({ status, aborted });
  await app.register(rateLimit as never, { name: 'p', limits, count } as never);
  app.get('/good', async () => 'x'.repeat(100_000));
  app.get('/part', (_, reply) => {
    reply.hijack();
    reply.raw.writeHead(200);
    reply.raw.write('part');
  });
  app.get('/large', async () => 'x'.repeat(10_000_000));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const client = http2.connect(`http://127.0.0.1:${portOf(app as never)}`);
  onTestFinished(() => client.destroy());
  const good = client.request({ ':path': '/good' }).resume();
  await once(good, 'close');
  for (const path of ['/part', '/large']) {
    const cut = client.request({ ':path': path });
    await once(cut, 'data');
    cut.pause().close(http2.constants.NGHTTP2_CANCEL);
  }
  await until(() => outcomes.length === 3, { what: 'all ends' });
  expect(outcomes).toEqual([
    { status: 200, aborted: false },
    { status: 200, aborted: true },
    { status: 200, aborted: true },
  ]);
});

test('Fastify’s own injected requests end as real ones do', async () => {
  const outcomes: Outcome[] = [];
  const app = fastify();
  const count = ({ status, aborted }: Outcome) => outcomes.push({ status, aborted });
  await app.register(rateLimit, { limits, count });
  app.get('/', async () => 'x');
  await app.inject('/');
  expect(outcomes).toEqual([{ status: 200, aborted: false }]);
});

test('Fastify decides after parsing when it is asked to: a batch costs as much as it has items', async () => {
  const app = fastify();
  onTestFinished(() => app.close());
  await app.register(rateLimit, {
    limits: fixedWindow({ limit: 5, window: '1d' }),
    hook: 'preHandler',
    cost: ({ request }: { request: { body?: unknown } }) => (Array.isArray(request.body) ? request.body.length : 1),
  } as never);
  app.post('/batch', async () => 'done');
  await app.listen({ port: 0, host: '127.0.0.1' });
  const post = async (items: readonly number[]) =>
    (
      await fetch(`http://127.0.0.1:${portOf(app)}/batch`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(items),
      })
    ).status;
  expect([await post([1, 2, 3]), await post([1, 2, 3]), await post([1, 2]), await post([1])]).toEqual([
    200, 429, 200, 429,
  ]);
});

test('a hook that Fastify does not limit by is refused', async () => {
  const register = async () => fastify().register(rateLimit, { limits, hook: 'onSend' as never });
  await expect(register()).rejects.toMatchObject({ code: 'ERR_OPTION', field: 'hook' });
});

test('a view is given to count functions', async () => {
  const seen: string[] = [];
  const gate = createGate({
    policies: [
      {
        name: 'p',
        limits,
        count: (_, { url }) => {
          seen.push(url);
          return 1;
        },
      },
    ],
  });
  const verdict = await gate.check(view({ url: '/a' }));
  verdict.finish?.({ status: 200, aborted: false });
  verdict.finish?.({ status: 200, aborted: false });
  expect(seen).toEqual(['/a']);
});

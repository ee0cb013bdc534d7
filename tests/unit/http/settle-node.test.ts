import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http';
import {
  type ClientHttp2Session,
  connect as connect2,
  createServer as createServer2,
  type Http2Server,
} from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { fixedWindow } from 'comporta';
import { rateLimit as expressLimit } from 'comporta/express';
import { rateLimit as fastifyLimit } from 'comporta/fastify';
import type { Outcome, RateLimitOptions } from 'comporta/http';
import { rateLimit as koaLimit } from 'comporta/koa';
import { withRateLimit } from 'comporta/node';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/wait.js';

// biome-ignore lint/suspicious/noExplicitAny: one listener for the requests of HTTP/1 and of HTTP/2
type Listener = (request: any, response: any) => void;

interface App {
  readonly listener: Listener;
  close(): Promise<void>;
}

const part = (): Readable => {
  const body = new Readable({ read: () => undefined });
  body.push('part');
  return body;
};

/** Each answers `/status/N` with that status, `/part` without an end, `/never` not at all, and throws at `/throw`. */
const kinds: Readonly<Record<string, (options: RateLimitOptions, reached: string[]) => Promise<App>>> = {
  node: async (options, reached) => {
    const limited = withRateLimit((incoming, response) => {
      const path = incoming.url ?? '/';
      reached.push(path);
      if (path === '/never') return;
      response.statusCode = path === '/throw' ? 500 : Number(path.slice('/status/'.length)) || 200;
      if (path === '/part') response.write('part');
      else response.end('x');
    }, options);
    return { listener: limited, close: limited.close };
  },
  express: async (options, reached) => {
    const limiter = expressLimit(options);
    const app = express().use(limiter);
    app.use((incoming, _response, next) => {
      reached.push(incoming.path);
      if (incoming.path === '/throw') throw Object.assign(new Error('broken'), { expose: false });
      next();
    });
    app.get('/status/:status', (incoming, response) => void response.status(Number(incoming.params.status)).send('x'));
    app.get('/part', (_, response) => void response.write('part'));
    app.get('/never', () => undefined);
    app.use((_error: unknown, _: unknown, response: express.Response, _next: unknown) => void response.sendStatus(500));
    return { listener: app, close: limiter.close };
  },
  koa: async (options, reached) => {
    const limiter = koaLimit(options);
    const app = new Koa().use(limiter);
    app.silent = true;
    app.use((ctx) => {
      reached.push(ctx.path);
      if (ctx.path === '/throw') throw new Error('broken');
      if (ctx.path === '/never') return new Promise(() => undefined);
      ctx.status = Number(ctx.path.slice('/status/'.length)) || 200;
      ctx.body = ctx.path === '/part' ? part() : 'x';
    });
    return { listener: app.callback(), close: limiter.close };
  },
  fastify: async (options, reached) => {
    let listener: Listener = () => undefined;
    const app = fastify({
      serverFactory: (handler) => {
        listener = handler;
        return createServer();
      },
    });
    await app.register(fastifyLimit, options);
    app.addHook('onRequest', async ({ url }) => void reached.push(url));
    app.get('/status/:status', async (incoming, reply) =>
      reply.code(Number((incoming.params as { status: string }).status)).send('x'),
    );
    app.get('/throw', async () => {
      throw new Error('broken');
    });
    app.get('/part', async () => part());
    app.get('/never', () => new Promise(() => undefined));
    await app.ready();
    return { listener, close: () => app.close() };
  },
};

async function setUp(kind: string, serve: (listener: Listener) => Server | Http2Server) {
  const outcomes: Outcome[] = [];
  const reached: string[] = [];
  const count = ({ status, aborted }: Outcome): number => {
    outcomes.push({ status, aborted });
    return 1;
  };
  const limits = fixedWindow({ limit: 100, window: '1d', align: 'first-hit' });
  const app = await kinds[kind]?.({ limits, count, cost: 1 }, reached);
  const server = serve((incoming, response) => app?.listener(incoming, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
    await app?.close();
  });
  return { port: (server.address() as AddressInfo).port, outcomes, reached, server };
}

const ended = (status: number) => ({ status, aborted: false });

describe.each(Object.keys(kinds))('%s', (kind) => {
  test('settles requests that follow each other on one connection once each, failures too', async () => {
    const { port, outcomes } = await setUp(kind, createServer);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const sockets = new Set();
    const paths = ['/status/200', '/throw', '/status/404', '/status/204', '/status/200'];
    for (const path of paths) {
      const sent = request({ host: '127.0.0.1', port, path, agent }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      sockets.add(sent.socket);
      await once(response.resume(), 'end');
    }
    expect(sockets.size).toBe(1);
    await until(() => outcomes.length === paths.length, { what: 'all ends' });
    expect(outcomes).toEqual([200, 500, 404, 204, 200].map(ended));
  });

  test('settles requests sent without waiting, whose connection breaks', async () => {
    const { port, outcomes, reached } = await setUp(kind, createServer);
    const client = connect(port, '127.0.0.1').on('error', () => undefined);
    client.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    client.write('GET /status/200 HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(10));
    await until(() => reached.length === 11, { what: 'all handlers' });
    client.destroy();
    await until(() => outcomes.length === 11, { what: 'all ends' });
    expect(outcomes.every(({ aborted }) => aborted)).toBe(true);
  });

  test.each(['/never', '/part'])('settles %s once when its client goes away', async (path) => {
    const { port, outcomes, reached } = await setUp(kind, createServer);
    const sent = request({ host: '127.0.0.1', port, path, agent: false }).on('error', () => undefined);
    let isAnswered = path === '/never';
    sent.on('response', (response) => {
      isAnswered = true;
      response.resume().on('error', () => undefined);
    });
    sent.end();
    await until(() => reached.length === 1 && isAnswered, { what: 'the handler' });
    sent.destroy();
    await until(() => outcomes.length > 0, { what: 'the end' });
    await new Promise(setImmediate);
    expect(outcomes).toEqual([{ status: path === '/part' ? 200 : 0, aborted: true }]);
  });

  test('settles a request to upgrade that nobody takes as any other', async () => {
    const { port, outcomes } = await setUp(kind, createServer);
    const headers = { connection: 'upgrade', upgrade: 'other' };
    const sent = request({ host: '127.0.0.1', port, path: '/status/200', headers, agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect([response.statusCode, response.headers.ratelimit]).toEqual([200, expect.stringContaining('r=99')]);
    await once(response.resume(), 'end');
    await until(() => outcomes.length === 1, { what: 'the end' });
    expect(outcomes).toEqual([ended(200)]);
  });
});

// Express 5 does not speak HTTP/2.
describe.each(['node', 'koa', 'fastify'])('%s over HTTP/2', (kind) => {
  async function session() {
    const set = await setUp(kind, createServer2);
    const client = connect2(`http://127.0.0.1:${set.port}`).on('error', () => undefined);
    onTestFinished(() => client.destroy());
    return { ...set, client };
  }

  const ask = async (client: ClientHttp2Session, path: string): Promise<[unknown, unknown]> => {
    const stream = client.request({ ':path': path }).on('error', () => undefined);
    const [headers] = await once(stream, 'response');
    if (path !== '/part') await once(stream.resume(), 'end');
    return [headers[':status'], headers.ratelimit];
  };

  test('settles streams of one session once each', async () => {
    const { client, outcomes } = await session();
    const said = expect.stringMatching(/^"default";r=\d+;t=\d+$/);
    for (const status of [200, 404, 500]) expect(await ask(client, `/status/${status}`)).toEqual([status, said]);
    await until(() => outcomes.length === 3, { what: 'all ends' });
    expect(outcomes).toEqual([200, 404, 500].map(ended));
  });

  test('settles streams that the client cancels, and those of a session that breaks', async () => {
    const { client, outcomes, reached } = await session();
    const stream = client.request({ ':path': '/part' }).on('error', () => undefined);
    await once(stream, 'response');
    stream.close(8);
    await until(() => outcomes.length === 1, { what: 'the end of what was cancelled' });
    client.request({ ':path': '/never' }).on('error', () => undefined);
    await ask(client, '/part');
    await until(() => reached.length === 3, { what: 'all handlers' });
    client.destroy();
    await until(() => outcomes.length === 3, { what: 'all ends' });
    expect(outcomes.map(({ aborted }) => aborted)).toEqual([true, true, true]);
  });

  test('refuses as over HTTP/1', async () => {
    const app = await kinds[kind]?.({ limits: fixedWindow({ limit: 0, window: '1m' }), name: 'none' }, []);
    const server = createServer2((incoming, response) => app?.listener(incoming, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(async () => {
      client.destroy();
      server.close();
      await app?.close();
    });
    const stream = client.request({ ':path': '/' }).setEncoding('utf8');
    const [headers] = await once(stream, 'response');
    let body = '';
    for await (const text of stream) body += text;
    expect([headers[':status'], headers['content-type'], headers['cache-control']]).toEqual([
      429,
      'application/problem+json',
      'no-store',
    ]);
    expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['none'] });
  });
});

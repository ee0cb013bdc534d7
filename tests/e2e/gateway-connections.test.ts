import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import {
  exchangeRaw,
  gatewayFile,
  onCleanup,
  openSocket,
  policyOf,
  startGateway,
  startUpstream,
  until,
} from './gateway-support.js';

const denied = { policies: [policyOf(0, { match: { path: '/deny' } })] };

/** A client that never closes its own side. */
async function holdOpen(port: number, bytes: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined).on('data', () => undefined);
  onCleanup(() => socket.destroy());
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

describe('headers', () => {
  it('are all seen, however many there are', async () => {
    const upstream = await startUpstream((_, response) => void response.writeHead(200, { 'x-own': 'yes' }).end());
    upstream.server.maxHeadersCount = 0;
    const gateway = { maxHeaderBytes: 65_536, maxBodyBytes: 10 };
    const { port } = await startGateway(gatewayFile(upstream.origin, gateway));
    const many = 'a:\r\n'.repeat(2500);
    const send = (rest: string) => exchangeRaw(port, `POST / HTTP/1.1\r\nHost: a\r\n${many}${rest}`);
    expect(await send(`Connection: close\r\nContent-Length: 100\r\n\r\n${'x'.repeat(100)}`)).toMatch(
      /^HTTP\/1\.1 413 /,
    );
    await send('Authorization: secret\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi');
    expect(upstream.requests[0]?.headers.authorization).toBe('secret');
  });

  it('of a trusted proxy count behind thousands of others', async () => {
    const rest = { trustedProxies: ['loopback'], policies: [policyOf(1)] };
    const { port } = await startGateway(gatewayFile('echo', { maxHeaderBytes: 65_536 }, rest));
    const send = (client: string) => {
      const head = `Host: a\r\n${'a:\r\n'.repeat(2500)}X-Forwarded-For: ${client}\r\nConnection: close`;
      return exchangeRaw(port, `GET / HTTP/1.1\r\n${head}\r\n\r\n`);
    };
    expect(await send('9.9.9.9')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await send('9.9.9.8')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await send('9.9.9.9')).toMatch(/^HTTP\/1\.1 429 /);
  });

  it('with an expectation that nobody meets get a problem', async () => {
    const { port } = await startGateway(gatewayFile('echo'));
    const answer = await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\nExpect: foo\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 417 /);
    expect(answer).toContain('application/problem+json');
  });

  it.each(['gzip', 'xchunked', 'gzip, chunked'])('with the transfer coding %s get 501', async (coding) => {
    const { port } = await startGateway(gatewayFile('echo'));
    const answer = await exchangeRaw(
      port,
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 501 /);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});

describe('a client that keeps its side open', () => {
  const head = (path: string, upgrade: string) =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\n`;
  it.each([
    ['h2c, admitted', head('/', 'h2c')],
    ['h2c, denied', head('/deny', 'h2c')],
    ['WebSocket, denied', head('/deny', 'websocket')],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('is let go after its answer: %s', async (_, bytes) => {
    const { app, port } = await startGateway(gatewayFile('echo', { drainTime: '20s' }, denied));
    const socket = await holdOpen(port, bytes);
    await once(socket, 'end');
    const startMs = Date.now();
    await app.stop();
    expect(Date.now() - startMs).toBeLessThan(5000);
  });

  it('does not hold a drain while its answer is out', async () => {
    const upstream = await startUpstream(() => undefined);
    const { app, port } = await startGateway(gatewayFile(upstream.origin, { drainTime: '100ms' }));
    const socket = await holdOpen(port, head('/', 'h2c'));
    await until('the request to arrive', () => upstream.requests.length === 1);
    const closed = once(socket, 'close');
    await app.stop();
    socket.end();
    await closed;
  });
});

describe('a gateway that ends', () => {
  const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const statuses = (text: string) => text.match(/HTTP\/1\.1 \d+/g) ?? [];
  const idleSocket = async (port: number) => {
    const opened = await openSocket(port);
    opened.socket.write(get);
    await until('an answer', () => opened.received().trimEnd().endsWith('}'));
    return { ...opened, closed: once(opened.socket, 'close') };
  };

  it('answers once more on a connection that was idle, and closes the others soon', async () => {
    const { app, port } = await startGateway(gatewayFile('echo', { drainTime: '20s' }));
    const [used, unused] = [await idleSocket(port), await idleSocket(port)];
    const startMs = Date.now();
    const stopped = app.stop();
    await expect(openSocket(port)).rejects.toThrow('ECONNREFUSED');
    used.socket.write(get + get);
    await used.closed;
    expect(statuses(used.received())).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
    expect(used.received()).toMatch(/connection: close/i);
    await Promise.all([unused.closed, stopped]);
    expect(statuses(unused.received())).toHaveLength(1);
    expect(Date.now() - startMs).toBeLessThan(5000);
  });

  it('takes connections for the drain delay, and ends each with its answer', async () => {
    const { app, port } = await startGateway(gatewayFile('echo', { drainDelay: '300ms', drainTime: '20s' }));
    const idle = await idleSocket(port);
    const stopped = app.stop();
    expect(await exchangeRaw(port, get)).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i);
    await Promise.all([idle.closed, stopped]);
    await expect(openSocket(port)).rejects.toThrow('ECONNREFUSED');
  });
});

describe('requests sent without waiting for answers', () => {
  it('are answered in order', async () => {
    const upstream = await startUpstream((incoming, response) => {
      setTimeout(() => response.end(`body of ${incoming.url};`), incoming.url === '/0' ? 50 : 0);
    });
    const { port } = await startGateway(gatewayFile(upstream.origin));
    const paths = Array.from({ length: 20 }, (_, i) => `/${i}`);
    const last = 'GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    const bytes = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join('');
    const answer = await exchangeRaw(port, `${bytes}${last}`);
    const bodies = answer.match(/body of [^;]+/g);
    expect(bodies).toEqual([...paths, '/end'].map((path) => `body of ${path}`));
  });

  const pay = 'POST /pay HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n';
  it.each([
    ['a request that closes', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 200, ['/']],
    [
      'an answer that closes',
      'POST /deny HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
      429,
      [],
    ],
    ['a bad target', 'GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n', 400, []],
  ])('are not executed after %s', async (_, first, status, seen) => {
    const upstream = await startUpstream((_, response) => void setTimeout(() => response.end('ok'), 20));
    const { port } = await startGateway(gatewayFile(upstream.origin, {}, denied));
    for (const second of [pay, 'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n']) {
      upstream.requests.length = 0;
      const answer = await exchangeRaw(port, `${first}${second}${second}`);
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(answer.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
      expect(upstream.requests.map(({ url }) => url)).toEqual(seen);
    }
  });
});

describe('the built-in echo', () => {
  it('bounds bodies without a declared length, and waits for their parts only so long', async () => {
    const routes = [{ path: '/', upstream: 'echo', timeout: '100ms' }];
    const { port } = await startGateway(gatewayFile('echo', { routes, maxBodyBytes: 10 }));
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    const { socket, received } = await openSocket(port);
    socket.write(`${head}14\r\n${'x'.repeat(20)}\r\n`);
    await until('an answer', () => received().startsWith('HTTP/1.1 413 '));
    expect(await exchangeRaw(port, `${head}5\r\nhello\r\n`)).toMatch(/^HTTP\/1\.1 408 /);
  });
});

describe('an upstream that fails', () => {
  it('is named in the log with the cause, once in a while', async () => {
    const upstream = await startUpstream();
    upstream.server.close();
    const { origin, lines } = await startGateway(gatewayFile(upstream.origin));
    for (let i = 0; i < 5; i++) await (await request(origin)).body.dump();
    expect(lines).toEqual([expect.stringContaining(`"upstream":"${upstream.origin}","cause":"connection refused"`)]);
  });

  it('is named when it does not answer in time', async () => {
    const upstream = await startUpstream(() => undefined);
    const routes = [{ path: '/', upstream: upstream.origin, timeout: '50ms' }];
    const { origin, lines } = await startGateway(gatewayFile('echo', { routes }));
    await (await request(origin)).body.dump();
    expect(lines).toEqual([expect.stringContaining('"cause":"no answer in time"')]);
  });
});

import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
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

const MB = 1024 * 1024;
const BIG_BYTES = 64 * MB;
/** More than all socket and stream buffers on the way together, far less than a body. */
const BUFFERED_MAX_BYTES = 24 * MB;

function* chunks(): Generator<Buffer> {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  for (let sent = 0; sent < BIG_BYTES; sent += chunk.length) yield chunk;
}

describe('large bodies', () => {
  it('stream to the upstream', async () => {
    const upstream = await startUpstream((incoming, response) => {
      let bytes = 0;
      incoming.on('data', (chunk) => (bytes += chunk.length)).on('end', () => response.end(String(bytes)));
    });
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    const { body } = await request(origin, { method: 'POST', body: Readable.from(chunks()) });
    expect(await body.text()).toBe(String(BIG_BYTES));
  });

  it('stream to the client', async () => {
    const upstream = await startUpstream((_, response) => void Readable.from(chunks()).pipe(response));
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    let bytes = 0;
    for await (const chunk of (await request(origin)).body) bytes += chunk.length;
    expect(bytes).toBe(BIG_BYTES);
  });

  it('stream through the echo without being kept', async () => {
    const { origin } = await startGateway(gatewayFile('echo'));
    const { body } = await request(origin, { method: 'POST', body: Readable.from(chunks()) });
    expect(await body.json()).toMatchObject({ bodyBytes: BIG_BYTES });
  });

  it('wait for an upstream that does not read', async () => {
    let incoming: IncomingMessage | undefined;
    const upstream = await startUpstream((arrived, response) => {
      incoming = arrived.pause();
      arrived.on('end', () => response.end('all'));
    });
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    let taken = 0;
    const source = Readable.from(
      (function* () {
        for (const chunk of chunks()) {
          taken += chunk.length;
          yield chunk;
        }
      })(),
    );
    const answer = request(origin, { method: 'POST', body: source });
    await settled(() => taken);
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(BUFFERED_MAX_BYTES);
    incoming?.resume();
    expect(await (await answer).body.text()).toBe('all');
    expect(taken).toBe(BIG_BYTES);
  });

  it('wait for a client that does not read', async () => {
    let sent = 0;
    const upstream = await startUpstream((_, response) => {
      const source = Readable.from(chunks());
      source.on('data', (chunk) => (sent += chunk.length)).pipe(response);
    });
    const { port } = await startGateway(gatewayFile(upstream.origin));
    const outgoing = httpRequest({ port });
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    await settled(() => sent);
    expect(sent).toBeLessThan(BUFFERED_MAX_BYTES);
    let received = 0;
    for await (const chunk of response) received += chunk.length;
    expect(received).toBe(BIG_BYTES);
  });

  it('of a client that stops reading end after the idle time', async () => {
    let closed = false;
    const upstream = await startUpstream((_, response) => {
      response.on('close', () => (closed = true));
      Readable.from(chunks())
        .on('error', () => undefined)
        .pipe(response);
    });
    const { port } = await startGateway(gatewayFile(upstream.origin, { idleTimeout: '200ms' }));
    const { socket } = await openSocket(port);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
    socket.pause();
    await until('the upstream request to end', () => closed);
  });

  it('reach the client part by part', async () => {
    let finish = (): void => undefined;
    const upstream = await startUpstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      finish = () => response.end('data: 2\n\n');
      setImmediate(() => response.write('data: 1\n\n'));
    });
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    const { body } = await request(origin);
    const parts: string[] = [];
    for await (const part of body) {
      parts.push(String(part));
      if (parts.length === 1) finish();
    }
    expect(parts).toEqual(['data: 1\n\n', 'data: 2\n\n']);
  });

  it('of a client that goes away end the upstream request', async () => {
    let isAborted = false;
    let started = false;
    const upstream = await startUpstream((incoming) => {
      started = true;
      incoming.on('error', () => undefined).on('close', () => (isAborted = !incoming.complete));
      incoming.resume();
    });
    const { port } = await startGateway(gatewayFile(upstream.origin));
    const { socket } = await openSocket(port);
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\npart');
    await until('the request to arrive', () => started);
    socket.destroy();
    await until('the upstream request to end', () => isAborted);
  });
});

/** Waits until a number has stopped growing: nothing more moves without a reader. */
async function settled(read: () => number): Promise<void> {
  let last = -1;
  let same = 0;
  await until('the flow to stop', async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    same = read() === last && last > 0 ? same + 1 : 0;
    last = read();
    return same >= 10;
  });
}

interface EchoSockets {
  readonly origin: string;
  readonly seen: IncomingMessage[];
  open(): number;
}

async function startEchoSockets(): Promise<EchoSockets> {
  const server = createServer((_, response) => void response.writeHead(404).end('no page here'));
  const sockets = new WebSocketServer({ noServer: true });
  const seen: IncomingMessage[] = [];
  server.on('upgrade', (incoming, socket, head) => {
    seen.push(incoming);
    if (incoming.url === '/refused')
      return void socket.end('HTTP/1.1 403 Forbidden\r\nX-Why: no\r\nContent-Length: 4\r\n\r\nnope');
    sockets.handleUpgrade(incoming, socket, head, (client) => client.on('message', (data) => client.send(data)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onCleanup(() => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    seen,
    open: () => sockets.clients.size,
  };
}

const handshake = (path: string, more = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n`;

describe('WebSockets', () => {
  it('pass through, after a decision, with the rate-limit fields on the handshake', async () => {
    const { origin, seen } = await startEchoSockets();
    const { port } = await startGateway(gatewayFile(origin, {}, { policies: [policyOf(1)] }));
    const socket = new WebSocket(`ws://127.0.0.1:${port}/chat?x=1`);
    const [[response]] = (await Promise.all([once(socket, 'upgrade'), once(socket, 'open')])) as [
      [IncomingMessage],
      unknown,
    ];
    expect(response.headers.ratelimit).toContain('"per-client";r=0');
    expect(seen[0]?.url).toBe('/chat?x=1');
    expect(seen[0]?.headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1', upgrade: 'websocket' });
    const big = Buffer.alloc(4 * MB, 7);
    socket.send(big);
    const [data] = (await once(socket, 'message')) as [RawData];
    expect(Buffer.compare(data as Buffer, big)).toBe(0);
    socket.close(4000, 'bye');
    expect((await once(socket, 'close'))[0]).toBe(4000);
  });

  it('are denied with a plain 429 that never reaches the upstream', async () => {
    const { origin, seen } = await startEchoSockets();
    const { port } = await startGateway(gatewayFile(origin, {}, { policies: [policyOf(0)] }));
    const answer = await exchangeRaw(port, handshake('/chat'));
    expect(answer).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
    expect(answer).toMatch(/ratelimit: "per-client";r=0/);
    expect(answer).toContain('"violated-policies":["per-client"]');
    expect(seen).toHaveLength(0);
  });

  it('end on the other side when one side ends', async () => {
    const { origin, open } = await startEchoSockets();
    const { port } = await startGateway(gatewayFile(origin));
    const first = new WebSocket(`ws://127.0.0.1:${port}/`);
    await once(first, 'open');
    expect(open()).toBe(1);
    first.terminate();
    await until('the upstream side to end', () => open() === 0);
    const second = new WebSocket(`ws://127.0.0.1:${port}/`);
    await once(second, 'open');
    second.close();
    await once(second, 'close');
    await until('the upstream side to end', () => open() === 0);
  });

  it("get the upstream's refusal as it is, and no tunnel behind it", async () => {
    const { origin, seen } = await startEchoSockets();
    const { port } = await startGateway(gatewayFile(origin));
    const answer = await exchangeRaw(port, `${handshake('/refused')}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(answer).toMatch(/x-why: no\r\n[\s\S]*\r\n\r\nnope$/i);
    expect(seen).toHaveLength(1);
  });

  it('get a 502 when the upstream is down', async () => {
    const upstream = await startUpstream();
    upstream.server.close();
    const { port } = await startGateway(gatewayFile(upstream.origin));
    expect(await exchangeRaw(port, handshake('/'))).toMatch(/^HTTP\/1\.1 502 /);
  });

  it('get a 504 when the upstream does not answer in time', async () => {
    const { server, origin } = await startUpstream();
    server.on('upgrade', (_, socket) => void socket.on('error', () => undefined));
    const { port } = await startGateway(
      gatewayFile('echo', { routes: [{ path: '/', upstream: origin, timeout: '100ms' }] }),
    );
    expect(await exchangeRaw(port, handshake('/'))).toMatch(/^HTTP\/1\.1 504 /);
  });

  it('are cut at the end of the drain time', async () => {
    const { origin, open } = await startEchoSockets();
    const { app, port } = await startGateway(gatewayFile(origin, { drainTime: '100ms' }));
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
    await once(socket, 'open');
    const closed = once(socket, 'close');
    await app.stop();
    expect((await closed)[0]).toBe(1006);
    await until('the upstream side to end', () => open() === 0);
  });

  it('with a body are refused', async () => {
    const { port } = await startGateway(gatewayFile('echo'));
    expect(await exchangeRaw(port, handshake('/', 'Content-Length: 3\r\n'))).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('other upgrades', () => {
  it('are ignored, so that no second protocol passes unseen', async () => {
    const upstream = await startUpstream((_, response) => void response.end('plain'));
    const { port } = await startGateway(gatewayFile(upstream.origin, {}, { policies: [policyOf(1)] }));
    const offer =
      'GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n';
    const answer = await exchangeRaw(port, offer);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/plain/);
    expect(upstream.requests[0]?.headers).not.toHaveProperty('upgrade');
    expect(upstream.requests[0]?.headers).not.toHaveProperty('http2-settings');
    expect(await exchangeRaw(port, offer)).toMatch(/^HTTP\/1\.1 429 /);
  });

  it('reach the echo too', async () => {
    const { port } = await startGateway(gatewayFile('echo'));
    const answer = await exchangeRaw(port, 'GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
    expect(answer).toMatch(/"path": "\/x"/);
  });
});

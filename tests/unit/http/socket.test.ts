import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ComportaError, concurrency, memoryStore, slidingWindow } from 'comporta';
import { type EventLimiter, limitMessages, rateLimit, type SocketEvent, type WsMessage } from 'comporta/socket';
import { faultyStore } from 'comporta/testing';
import { Server, type Socket } from 'socket.io';
import { type Socket as Client, io as connectIo } from 'socket.io-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { until } from '../../support/wait.js';
import { ManualClock } from './stores.js';

const still = () => memoryStore({ clock: new ManualClock() });
const limitOf = (limit: number) => slidingWindow({ limit, window: '10s' });

type Limit = ReturnType<typeof limitMessages<WebSocket>>;

/** A server of `ws` that notes what its listeners get and answers each message with itself. */
async function serveWs(limit: Limit, onOpen: (socket: WebSocket) => void = () => undefined) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const got: string[] = [];
  const opened: WebSocket[] = [];
  server.on('connection', (socket, upgrade) => {
    opened.push(socket);
    limit(socket, upgrade);
    socket.on('message', (data, isBinary) => {
      got.push(`${data}`);
      socket.send(data, { binary: isBinary });
    });
    socket.on('close', (code) => void got.push(`closed ${code}`));
    onOpen(socket);
  });
  onTestFinished(async () => {
    for (const socket of server.clients) socket.terminate();
    server.close();
    await limit.close();
  });
  return { got, opened, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function openWs(url: string, headers: Record<string, string> = {}) {
  const client = new WebSocket(url, { headers });
  const heard: string[] = [];
  client.on('message', (data) => void heard.push(`${data}`));
  await once(client, 'open');
  onTestFinished(() => client.terminate());
  return { client, heard };
}

const FAULTY_REPLIES: [string, () => unknown, string][] = [
  [
    'throws',
    () => {
      throw new Error('no words');
    },
    'no words',
  ],
  ['fails later', () => Promise.reject(new Error('late')), 'it must return what to send at once'],
  ['comes later', async () => 'sorry', 'it must return what to send at once'],
  ['is a function', () => () => 'sorry', 'it must return what to send at once'],
];

describe('ws', () => {
  test('messages over the limit do not reach the listeners, and their sender is told when to try again', async () => {
    const limit = limitMessages<WebSocket>({ limits: limitOf(2), store: still() });
    const { url, got } = await serveWs(limit);
    const { client, heard } = await openWs(url);
    for (const text of ['a', 'b', 'c']) client.send(text);
    await until(() => heard.length === 3, { what: 'three answers' });
    expect(got).toEqual(['a', 'b']);
    expect(heard.slice(0, 2)).toEqual(['a', 'b']);
    expect(JSON.parse(heard[2] ?? '')).toEqual({
      error: {
        status: 429,
        code: 'TOO_MANY_REQUESTS',
        message: 'default allows 2 requests in any 10s. Try again in 10 seconds.',
        retryAfterMs: 10_000,
      },
    });
  });

  test('connections of one client share its limit, and others have their own', async () => {
    const limit = limitMessages<WebSocket>({ limits: limitOf(1), store: still(), key: 'header:x-user' });
    const { url, got } = await serveWs(limit);
    const clients = [await openWs(url, { 'x-user': 'a' }), await openWs(url, { 'x-user': 'a' })];
    const other = await openWs(url, { 'x-user': 'b' });
    for (const { client, heard } of [...clients, other]) {
      client.send('x');
      await until(() => heard.length === 1, { what: 'an answer' });
    }
    expect(got).toEqual(['x', 'x']);
    expect(clients[1]?.heard[0]).toContain('429');
  });

  test('functions get the message, its socket and the request that opened it', async () => {
    const seen: unknown[] = [];
    const limit = limitMessages<WebSocket>({
      limits: limitOf(3),
      store: still(),
      key: ({ request, url, peerAddress }) => {
        seen.push([request.upgrade.httpVersion, request.isBinary, request.socket.protocol, url, peerAddress]);
        return request.upgrade.url;
      },
      cost: ({ request }) => request.bytes,
    });
    const { url, got } = await serveWs(limit);
    const { client, heard } = await openWs(`${url}/room?id=1`);
    client.send(Buffer.from('ab'));
    client.send('abc');
    await until(() => heard.length === 2, { what: 'two answers' });
    expect(got).toEqual(['ab']);
    expect(seen[0]).toEqual(['1.1', true, '', '/room?id=1', '127.0.0.1']);
  });

  test('while a decision is awaited nothing is read, and everything is delivered in order, the end too', async () => {
    const store = faultyStore();
    const limit = limitMessages<WebSocket>({
      name: 'chat',
      limits: limitOf(1000),
      store,
      timeoutMs: 60_000,
      maxWaiting: 1000,
    });
    const { url, got, opened } = await serveWs(limit);
    store.freeze();
    const { client } = await openWs(url);
    const sent = Array.from({ length: 200 }, (_, i) => `${i}`);
    for (const text of sent) client.send(text);
    client.close(4000);
    await until(() => opened[0]?.isPaused === true, { what: 'a pause' });
    expect(got).toEqual([]);
    store.slow(1);
    store.up();
    await until(() => got.at(-1) === 'closed 4000', { what: 'the end' });
    expect(got).toEqual([...sent, 'closed 4000']);
  });

  test('a flood while the store is slow waits in the network: no more than maxWaiting wait here', async () => {
    const store = faultyStore();
    const limit = limitMessages<WebSocket>({
      name: 'chat',
      limits: limitOf(1_000_000),
      store,
      timeoutMs: 60_000,
      maxWaiting: 10,
      closeAfter: false,
    });
    const { url, got, opened } = await serveWs(limit);
    store.freeze();
    const { client, heard } = await openWs(url);
    for (let i = 0; i < 5000; i++) client.send(`${i}`.padEnd(1000, '.'));
    await until(() => opened[0]?.isPaused === true && heard.length > 0, { what: 'a refusal' });
    expect(client.bufferedAmount).toBeGreaterThan(0);
    expect(heard.length).toBeLessThan(1000);
    expect(heard.every((text) => text.includes('SERVICE_UNAVAILABLE'))).toBe(true);
    expect(got).toEqual([]);
  });

  test('so many refusals in a row end the connection with 1008, and one that passes starts anew', async () => {
    const clock = new ManualClock();
    const limits = slidingWindow({ limit: 1, window: '1s' });
    const limit = limitMessages<WebSocket>({ limits, store: memoryStore({ clock }), closeAfter: 3 });
    const { url, got } = await serveWs(limit);
    const { client, heard } = await openWs(url);
    for (const text of ['a', 'b', 'c']) client.send(text);
    await until(() => heard.length === 3, { what: 'two refusals' });
    clock.advance(1000);
    for (const text of ['d', 'e', 'f', 'g', 'h', 'i']) client.send(text);
    const [code, reason] = await once(client, 'close');
    expect([code, String(reason)]).toEqual([1008, 'default allows 1 request in any second. Try again in 1 second.']);
    expect(heard.filter((text) => text.includes('429'))).toHaveLength(5);
    await until(() => got.length === 3, { what: 'the end' });
    expect(got).toEqual(['a', 'd', 'closed 1008']);
  });

  test('where nobody can count and the policy closes, the connection ends with 1013', async () => {
    const store = faultyStore();
    store.down();
    const limit = limitMessages<WebSocket>({
      name: 'chat',
      limits: limitOf(1),
      store,
      onStoreFailure: 'closed',
      closeAfter: 1,
    });
    const { url } = await serveWs(limit);
    const { client } = await openWs(url);
    client.send('a');
    const [code] = await once(client, 'close');
    expect(code).toBe(1013);
  });

  test('what the sender of a refused message gets can be chosen, and can be nothing', async () => {
    const limit = limitMessages<WebSocket>({
      limits: limitOf(0),
      store: still(),
      reply: ({ status }, { data, isBinary }) => (isBinary ? undefined : `no ${data}: ${status}`),
    });
    const { url } = await serveWs(limit);
    const { client, heard } = await openWs(url);
    client.send(Buffer.from('binary'));
    client.send('text');
    await until(() => heard.length === 1, { what: 'an answer' });
    expect(heard).toEqual(['no text: 429']);
  });

  test.each(FAULTY_REPLIES)('a reply that %s is said once, and the message stays refused', async (_, reply, said) => {
    const errors: string[] = [];
    const limit = limitMessages<WebSocket>({
      limits: limitOf(0),
      store: still(),
      closeAfter: 3,
      onError: ({ message }) => void errors.push(message),
      reply: reply as () => string,
    });
    const { url, got } = await serveWs(limit);
    const { client, heard } = await openWs(url);
    for (const text of ['a', 'b', 'c']) client.send(text);
    expect(await once(client, 'close')).toEqual([1008, expect.anything()]);
    expect(errors).toEqual([`reply: the function failed: ${said}`]);
    await until(() => got.length > 0, { what: 'the end' });
    expect([heard, got]).toEqual([[], ['closed 1008']]);
  });

  test.each<[string, () => unknown, string]>([
    ['an object', () => ({ a: 1 }), 'expected a text or bytes, got an object'],
    ['a number', () => 5, 'expected a text or bytes, got 5'],
    ['a symbol', () => Symbol('x'), 'expected a text or bytes, got Symbol(x)'],
  ])('a reply that is %s cannot be sent, and that is said', async (_, reply, said) => {
    const errors: string[] = [];
    const onError = ({ message }: ComportaError) => void errors.push(message);
    const limit = limitMessages<WebSocket>({
      limits: limitOf(1),
      store: still(),
      onError,
      reply: reply as () => string,
    });
    const { url } = await serveWs(limit);
    const { client, heard } = await openWs(url);
    for (const text of ['a', 'b', 'c']) client.send(text);
    await until(() => errors.length > 0 && heard.length > 0, { what: 'a report' });
    expect([errors, heard, client.readyState]).toEqual([
      [`reply: the function failed: ${said}`],
      ['a'],
      WebSocket.OPEN,
    ]);
  });

  test('a limiter that is given a connection twice counts its messages once, and says so', async () => {
    const errors: string[] = [];
    const onError = ({ message }: ComportaError) => void errors.push(message);
    const limit = limitMessages<WebSocket>({ limits: limitOf(2), store: still(), onError });
    const twice: Limit = Object.assign(
      (...opened: Parameters<Limit>) => {
        limit(...opened);
        limit(...opened);
      },
      { gate: limit.gate, close: limit.close },
    );
    const { url, got } = await serveWs(twice);
    for (let i = 0; i < 2; i++) {
      const { client, heard } = await openWs(url);
      client.send(`${i}`);
      await until(() => heard.length === 1, { what: 'an answer' });
    }
    expect(got).toEqual(['0', '1']);
    expect(errors).toEqual([expect.stringContaining('counted once')]);
  });

  test.each(['nodebuffer', 'arraybuffer', 'fragments'] as const)(
    'the bytes of a message are known as %s',
    async (type) => {
      const limit = limitMessages<WebSocket>({
        limits: limitOf(5),
        store: still(),
        cost: ({ request }) => request.bytes,
        onVerdict: ({ decisions }) => void costs.push(decisions[0]?.cost),
      });
      const costs: unknown[] = [];
      const { url } = await serveWs(limit, (socket) => {
        socket.binaryType = type;
      });
      const { client } = await openWs(url);
      client.send(Buffer.from('abcd'));
      await until(() => costs.length === 1, { what: 'a verdict' });
      expect(costs).toEqual([4]);
    },
  );

  test('a client that does not read is told of no more refusals, so that nothing piles up for it', async () => {
    const options = { limits: limitOf(0), store: still(), closeAfter: false } as const;
    const limit = limitMessages<WebSocket>({ ...options, reply: () => 'x'.repeat(10_000) });
    const { url, opened } = await serveWs(limit);
    const { client, heard } = await openWs(url);
    client.pause();
    for (let i = 0; i < 3000; i++) client.send('a');
    await until(() => (opened[0]?.bufferedAmount ?? 0) > 65_536, { what: 'a client that is behind' });
    const last = new Promise((resolve) => client.ping('', true, resolve));
    await last;
    await new Promise(setImmediate);
    expect(opened[0]?.bufferedAmount).toBeLessThan(65_536 + 20_000);
    expect(heard).toEqual([]);
  });

  test('listeners by addEventListener and once are served too', async () => {
    const limit = limitMessages<WebSocket>({ limits: limitOf(9), store: still() });
    const seen: unknown[] = [];
    const { url } = await serveWs(limit, (socket) => {
      socket.addEventListener('message', ({ data }) => void seen.push(data));
      socket.once('message', (data) => void seen.push(`once ${data}`));
    });
    const { client, heard } = await openWs(url);
    client.send('a');
    client.send('b');
    await until(() => heard.length === 2, { what: 'two answers' });
    expect(seen).toEqual(['a', 'once a', 'b']);
  });
});

test.each<[string, object, string]>([
  ['maxWaiting', { maxWaiting: 0 }, 'maxWaiting: expected a whole number from 1'],
  ['closeAfter', { closeAfter: 0 }, 'closeAfter: expected a whole number from 1'],
  ['an unknown option', { limit: 1 }, 'limit: unknown'],
  ['count', { count: 'failures' }, 'count: a limiter of messages never sees how a request ends'],
  ['places', { limits: concurrency({ limit: 1 }) }, 'places of a concurrency limit cannot be freed'],
  ['reply', { reply: 'no' }, 'reply: expected a function'],
])('wrong options are errors at once: %s', (_, wrong, message) => {
  const options = { limits: limitOf(1), ...wrong } as never;
  const code = expect.objectContaining({ code: 'ERR_OPTION', message: expect.stringContaining(message) });
  expect(() => limitMessages(options)).toThrow(code);
  expect(() => rateLimit(options)).toThrow(code);
});

const circle: { self?: unknown } = {};
circle.self = circle;

async function serveIo(limit: EventLimiter<Socket>, namespace = '/') {
  const http = createServer();
  const server = new Server(http, { transports: ['websocket'] });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const got: unknown[] = [];
  const sockets: Socket[] = [];
  server.of(namespace).use(limit);
  server.of(namespace).on('connection', (socket) => {
    sockets.push(socket);
    socket.onAny(() => undefined);
    socket.on('say', (text, answer) => {
      got.push(text);
      answer?.(`heard ${text}`);
    });
    socket.on('disconnect', (reason) => void got.push(reason));
  });
  onTestFinished(async () => {
    await server.close();
    await limit.close();
  });
  return { got, sockets, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}${namespace}` };
}

async function openIo(url: string, query: Record<string, string> = {}): Promise<Client> {
  const client = connectIo(url, { transports: ['websocket'], forceNew: true, reconnection: false, query });
  onTestFinished(() => void client.disconnect());
  await new Promise<void>((resolve, reject) => {
    client.on('connect', resolve);
    client.on('connect_error', reject);
  });
  return client;
}

describe('Socket.IO', () => {
  test('events over the limit do not reach the listeners, and their acknowledgement says why', async () => {
    const limit = rateLimit({ limits: limitOf(2), store: still() });
    const { url, got } = await serveIo(limit);
    const client = await openIo(url);
    const answers = [];
    for (const text of ['a', 'b', 'c']) answers.push(await client.emitWithAck('say', text));
    expect(answers.slice(0, 2)).toEqual(['heard a', 'heard b']);
    expect(answers[2]).toMatchObject({ error: { status: 429, code: 'TOO_MANY_REQUESTS', retryAfterMs: 10_000 } });
    expect(got).toEqual(['a', 'b']);
  });

  test('without an acknowledgement the sender gets an event error', async () => {
    const limit = rateLimit({ limits: limitOf(1), store: still() });
    const { url, got } = await serveIo(limit);
    const client = await openIo(url);
    await client.emitWithAck('say', 'a');
    const told = new Promise((resolve) => client.once('error' as never, resolve as never));
    client.emit('say', 'b');
    expect(await told).toMatchObject({ error: { status: 429, retryAfterMs: 10_000 } });
    expect(got).toEqual(['a']);
  });

  test('functions get the event, its arguments and the socket; the path is the namespace and the event', async () => {
    const seen: unknown[] = [];
    const limit = rateLimit({
      limits: limitOf(1),
      store: still(),
      match: { path: '/room/say' },
      key: ({ request, url, peerAddress }) => {
        const { event, args, socket } = request;
        seen.push([event, args, socket.handshake.query.user, url.replace(/\?.*/, ''), peerAddress]);
        return String(socket.handshake.query.user);
      },
    });
    const { url } = await serveIo(limit, '/room');
    const [ana, bob] = [await openIo(url, { user: 'ana' }), await openIo(url, { user: 'bob' })];
    expect(await ana.emitWithAck('say', 'a')).toBe('heard a');
    expect(await bob.emitWithAck('say', 'b')).toBe('heard b');
    ana.emit('other');
    ana.emit('\ud800 / %', 'x');
    expect(await ana.emitWithAck('say', 'c')).toMatchObject({ error: { status: 429 } });
    expect(seen).toEqual([
      ['say', ['a'], 'ana', '/room/say', '127.0.0.1'],
      ['say', ['b'], 'bob', '/room/say', '127.0.0.1'],
      ['say', ['c'], 'ana', '/room/say', '127.0.0.1'],
    ]);
  });

  test('a slow store changes no order, and more than maxWaiting are refused', async () => {
    const store = faultyStore();
    const limit = rateLimit({ name: 'chat', limits: limitOf(1000), store, timeoutMs: 60_000, maxWaiting: 20 });
    const { url, got } = await serveIo(limit);
    const client = await openIo(url);
    store.freeze();
    const answers = Array.from({ length: 30 }, (_, i) => client.emitWithAck('say', i));
    const refused = await Promise.all(answers.slice(21));
    expect(refused.map(({ error }) => error.code)).toEqual(Array(9).fill('SERVICE_UNAVAILABLE'));
    store.up();
    const passed = Array.from({ length: 21 }, (_, i) => i);
    expect(await Promise.all(answers.slice(0, 21))).toEqual(passed.map((i) => `heard ${i}`));
    expect(got).toEqual(passed);
  });

  test('so many refusals in a row end the connection', async () => {
    const limit = rateLimit({ limits: limitOf(1), store: still(), closeAfter: 2 });
    const { url, got } = await serveIo(limit);
    const client = await openIo(url);
    const left = new Promise((resolve) => client.once('disconnect', resolve));
    for (const text of ['a', 'b', 'c', 'd']) client.emit('say', text);
    expect(await left).toBe('io server disconnect');
    await until(() => got.length === 2, { what: 'the end' });
    expect(got).toEqual(['a', 'server namespace disconnect']);
  });

  test('what the sender of a refused event gets can be chosen, and can be nothing', async () => {
    const reply = (_: unknown, { event, args }: SocketEvent) => (args.length > 1 ? undefined : [event, ...args]);
    const limit = rateLimit({ limits: limitOf(0), store: still(), reply });
    const { url } = await serveIo(limit);
    const client = await openIo(url);
    const silent = client.timeout(50).emitWithAck('say', 'a', 'b');
    expect(await client.emitWithAck('say', 'a')).toEqual(['say', 'a']);
    await expect(silent).rejects.toThrow('timed out');
  });

  test.each([
    ...FAULTY_REPLIES,
    ['has no end', () => circle, expect.stringMatching(/circular|call stack/i)] as const,
    ['is a whole number without end', () => 10n, expect.stringContaining('BigInt')] as const,
  ])('a reply that %s is said once, and the server goes on', async (_, reply, said) => {
    const errors: string[] = [];
    const onError = ({ message }: ComportaError) =>
      void errors.push(message.replace('reply: the function failed: ', ''));
    const limit = rateLimit({
      limits: limitOf(1),
      store: still(),
      key: 'header:x-user',
      closeAfter: 2,
      onError,
      reply,
    });
    const { url, got } = await serveIo(limit);
    const client = await openIo(url);
    const left = new Promise((resolve) => client.once('disconnect', resolve));
    expect(await client.emitWithAck('say', 'a')).toBe('heard a');
    client.emit('say', 'b');
    client.emit('say', 'c', () => undefined);
    expect(await left).toBe('io server disconnect');
    expect([errors, got[0]]).toEqual([[said], 'a']);
    expect((await openIo(url)).connected).toBe(true);
  });

  test('a limiter that is used twice counts once, and says so', async () => {
    const errors: string[] = [];
    const onError = ({ message }: ComportaError) => void errors.push(message);
    const limit = rateLimit({ limits: limitOf(2), store: still(), onError });
    const twice: typeof limit = Object.assign(
      (socket: Socket, next: () => void) => limit(socket, () => limit(socket, next)),
      { gate: limit.gate, close: limit.close },
    );
    const { url } = await serveIo(twice);
    const client = await openIo(url);
    const answers = [];
    for (const text of ['a', 'b', 'c']) answers.push(await client.emitWithAck('say', text));
    expect(answers).toEqual(['heard a', 'heard b', { error: expect.objectContaining({ status: 429 }) }]);
    expect(errors).toEqual([expect.stringContaining('counted once')]);
  });

  test('a fault of a key function counts as anonymous and is reported', async () => {
    const errors: ComportaError[] = [];
    const key = (): never => {
      throw new Error('no user');
    };
    const limit = rateLimit({ limits: limitOf(1), store: still(), key, onError: (error) => void errors.push(error) });
    const { url } = await serveIo(limit);
    const client = await openIo(url);
    expect(await client.emitWithAck('say', 'a')).toBe('heard a');
    expect(await client.emitWithAck('say', 'b')).toMatchObject({ error: { status: 429 } });
    expect(errors[0]).toMatchObject({ code: 'ERR_KEY' });
  });
});

test('the types of messages are those of ws, Node and Socket.IO', () => {
  const upgradeOf = (message: WsMessage<WebSocket, IncomingMessage>): string | undefined => message.upgrade.url;
  limitMessages({ limits: limitOf(1), key: ({ request }) => request.upgrade.httpVersion });
  // @ts-expect-error: an IncomingMessage has no such member
  limitMessages({ limits: limitOf(1), key: ({ request }) => request.upgrade.user });
  // @ts-expect-error: a Socket has no such member
  rateLimit({ limits: limitOf(1), key: ({ request }) => request.socket.user });
  expect(upgradeOf).toBeTypeOf('function');
});

import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createServer2, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { type ComportaError, concurrency, memoryStore, slidingWindow } from 'comporta';
import { NodeView } from 'comporta/http';
import { withRateLimit } from 'comporta/node';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/wait.js';
import { send, serve } from './serve.js';
import { lateStore, ManualClock } from './stores.js';

const store = () => memoryStore({ clock: new ManualClock() });
const limitOf = (limit: number) => slidingWindow({ limit, window: '10s' });

test('the listener is called with Node’s own request and response, and functions get the request', async () => {
  let subject = '';
  const limited = withRateLimit(
    (incoming, response) => {
      response.writeHead(200, { 'x-http': incoming.httpVersion }).end('hello');
    },
    {
      limits: limitOf(2),
      store: store(),
      key: ({ request }) => request.headersDistinct['x-user']?.[0],
      onVerdict: ({ decisions }) => {
        subject = decisions[0]?.subject ?? '';
      },
    },
  );
  const port = await serve(limited);
  const ask = async (user: string) => (await send(port, '/', { headers: { 'x-user': user } })).status;
  expect([await ask('b'), await ask('a'), await ask('a'), await ask('a')]).toEqual([200, 200, 200, 429]);
  await limited.gate.limiters.get('default')?.reset(subject);
  expect((await send(port, '/', { headers: { 'x-user': 'a' } })).headers).toMatchObject({ 'x-http': '1.1' });
  await limited.close();
});

test('a server of HTTP/2 takes it too, with its own types', async () => {
  const limited = withRateLimit(
    (incoming: Http2ServerRequest, response: Http2ServerResponse) => response.end(incoming.authority),
    { limits: limitOf(1), store: store(), key: ({ request }) => request.stream.session?.type.toString() },
  );
  const server = createServer2(limited).listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  await limited.close();
});

test.each(['headersSent', 'writableEnded'])('a response that was sent before is left alone: %s', async (state) => {
  const limited = withRateLimit((_, response) => void response.end('late'), { limits: limitOf(0), store: store() });
  const port = await serve((incoming, response) => {
    if (state === 'headersSent') response.writeHead(200).write('mine');
    else response.end('mine');
    limited(incoming, response);
    response.end();
  });
  expect(await send(port)).toMatchObject({ status: 200, body: 'mine' });
});

test('a client that leaves before a later verdict breaks nothing, and the next is served', async () => {
  const errors: ComportaError[] = [];
  const verdicts: boolean[] = [];
  const clock = new ManualClock();
  const limited = withRateLimit((_, response) => void response.end('hello'), {
    limits: limitOf(2),
    key: 'global',
    store: lateStore(clock),
    onError: (error) => void errors.push(error),
    onVerdict: ({ allowed }) => void verdicts.push(allowed),
  });
  const port = await serve((incoming, response) => {
    if (incoming.url !== '/leaves') return limited(incoming, response);
    incoming.socket.once('close', () => limited(incoming, response));
    incoming.socket.destroy();
  });
  const client = connect(port, '127.0.0.1').on('error', () => undefined);
  client.write('GET /leaves HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => verdicts.length === 1, { what: 'the verdict for the client that left' });
  expect([(await send(port)).body, (await send(port)).status]).toEqual(['hello', 429]);
  expect([verdicts, errors]).toEqual([[true, true, false], []]);
});

test('faults of the listener are the server’s to see', () => {
  const limited = withRateLimit<IncomingMessage, ServerResponse>(
    () => {
      throw new Error('broken');
    },
    { limits: limitOf(1), store: store(), key: 'global' },
  );
  const response = { once: () => undefined, getHeader: () => undefined, setHeader: () => undefined };
  expect(() => limited({ headers: {} } as IncomingMessage, response as never)).toThrow('broken');
});

test('upgrades are limited by the gate, and a place is held until the connection ends', async () => {
  const limits = concurrency({ limit: 1, lease: '1h' });
  const limited = withRateLimit((_, response) => void response.end(), { limits, store: store() });
  const server = createServer(limited);
  // As in docs/node.md.
  server.on('upgrade', async (incoming, socket) => {
    socket.on('error', () => socket.destroy());
    const verdict = await limited.gate.check(new NodeView(incoming, incoming, incoming.url, undefined));
    if (!verdict.allowed) return void socket.end(`HTTP/1.1 ${verdict.status} Refused\r\nconnection: close\r\n\r\n`);
    socket.once('close', () => verdict.finish?.({ status: 101, aborted: false }));
    socket.once('end', () => socket.end());
    socket.resume().write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    await limited.close();
  });
  const { port } = server.address() as AddressInfo;
  const upgrade = async () => {
    const headers = { connection: 'upgrade', upgrade: 'echo' };
    const sent = request({ host: '127.0.0.1', port, headers, agent: false }).on('error', () => undefined);
    sent.end();
    return await new Promise<{ status: number | undefined; end(): void }>((resolve) => {
      sent.on('upgrade', ({ statusCode }, socket) => resolve({ status: statusCode, end: () => socket.destroy() }));
      sent.on('response', (response) => resolve({ status: response.statusCode, end: () => response.destroy() }));
    });
  };
  const first = await upgrade();
  expect([first.status, (await upgrade()).status]).toEqual([101, 429]);
  first.end();
  const next = await until(
    async () => {
      const again = await upgrade();
      return again.status === 101 && again;
    },
    { what: 'the place of the connection that ended' },
  );
  next.end();
});

test('wrong options are errors at once', () => {
  const listener = () => undefined;
  expect(() => withRateLimit(listener, { limits: limitOf(1), cost: -1 })).toThrow('cost');
  expect(() => withRateLimit('no' as never, { limits: limitOf(1) })).toThrow('listener: expected a function');
  // @ts-expect-error: an IncomingMessage has no such member
  expect(withRateLimit(listener, { limits: limitOf(1), key: ({ request }) => request.user })).toBeTypeOf('function');
});

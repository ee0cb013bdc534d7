import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { request } from 'undici';
import { expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { startServer } from '../support/servers.js';
import { configOf, gatewayFile, onCleanup, startGateway, startUpstream, until } from './gateway-support.js';

const LIMIT = 2;
const policies = [{ name: 'places', key: 'ip', limits: { concurrency: { limit: LIMIT, lease: '1h' } } }];

/** An upstream with streams that do not end, and WebSockets; a gateway with two places before it. */
async function start(rest: object = {}) {
  const streams: ServerResponse[] = [];
  const upstream = await startUpstream((incoming, response) => {
    if (incoming.url !== '/stream') return void response.end('ok');
    response.write('first');
    streams.push(response);
  });
  const sockets = new WebSocketServer({ noServer: true });
  onCleanup(() => sockets.close());
  upstream.server.on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    if (incoming.url === '/refused') return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    sockets.handleUpgrade(incoming, socket, head, () => undefined);
  });
  const gateway = await startGateway(gatewayFile(upstream.origin, {}, { policies, ...rest }));
  const statusOf = async (): Promise<number> => {
    const { statusCode, body } = await request(`${gateway.origin}/`);
    await body.dump();
    return statusCode;
  };
  const hasRoom = async () => (await statusOf()) === 200;
  /** A stream that goes on until it is broken off; undefined when refused. */
  const open = async () => {
    const sent = httpRequest({ host: '127.0.0.1', port: gateway.port, path: '/stream', agent: false });
    sent.on('error', () => undefined).end();
    onCleanup(() => sent.destroy());
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.on('error', () => undefined).resume();
    return response.statusCode === 200 ? sent : undefined;
  };
  const tunnel = async (path = '/chat') => {
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}${path}`).on('error', () => undefined);
    onCleanup(() => socket.terminate());
    const refused = once(socket, 'unexpected-response').then(([, { statusCode }]) => Number(statusCode));
    return Promise.race([once(socket, 'open').then(() => socket), refused]);
  };
  return { ...gateway, upstream, streams, statusOf, hasRoom, open, tunnel };
}

it('lets so many streams through at once, over Redis, and the next when one ends or is left', async () => {
  const redis = await startServer();
  onCleanup(() => redis.stop());
  const { open, statusOf, hasRoom, streams } = await start({
    store: `redis://127.0.0.1:${redis.port}`,
    onStoreFailure: 'closed',
    timeout: '2s',
  });
  await until('Redis', hasRoom);
  await until('the place of that request', hasRoom);
  let first: Awaited<ReturnType<typeof open>>;
  await until('a stream', async () => {
    first = await open();
    return first !== undefined;
  });
  await until('another', async () => (await open()) !== undefined);
  expect([await statusOf(), await open()]).toEqual([429, undefined]);
  first?.destroy();
  await until('the place of the client that left', hasRoom);
  for (const stream of streams) stream.end();
  await until('all places', hasRoom);
});

it('holds a place for as long as a WebSocket is open', async () => {
  const { tunnel, statusOf, hasRoom } = await start();
  const [first, second, third] = [await tunnel(), await tunnel(), await tunnel()];
  expect([typeof first, typeof second, third, await statusOf()]).toEqual(['object', 'object', 429, 429]);
  (first as WebSocket).close();
  await until('the place of a socket that was closed', hasRoom);
  (second as WebSocket).terminate();
  let again: unknown;
  await until('the place of a socket that broke', async () => {
    again = await tunnel();
    return typeof again === 'object';
  });
  await until('another', async () => typeof (await tunnel()) === 'object');
  expect(await statusOf()).toBe(429);
});

it('keeps no place for an upgrade that the upstream refuses, or that is no WebSocket', async () => {
  const { tunnel, hasRoom, port } = await start();
  for (let i = 0; i < 3 * LIMIT; i++)
    await until('a refusal by the upstream', async () => (await tunnel('/refused')) === 403);
  await until('a place', hasRoom);
  for (let i = 0; i < 3 * LIMIT; i++) {
    await until('an answer without an upgrade', async () => {
      const headers = { connection: 'upgrade', upgrade: 'h2c' };
      const sent = httpRequest({ host: '127.0.0.1', port, path: '/', headers, agent: false }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      await once(response, 'end');
      return response.statusCode === 200;
    });
  }
});

it('keeps the places of streams that outlive a change of the file', async () => {
  const { app, open, upstream, statusOf, hasRoom } = await start();
  const streams = [await open(), await open()];
  app.apply(configOf(gatewayFile(upstream.origin, {}, { policies: [{ ...policies[0], onStoreFailure: 'closed' }] })));
  expect(await statusOf()).toBe(429);
  streams[0]?.destroy();
  await until('the place of the client that left', hasRoom);
});

it('frees the places of what it cuts when it stops, those of an earlier file too', async () => {
  const redis = await startServer();
  onCleanup(() => redis.stop());
  const store = `redis://127.0.0.1:${redis.port}`;
  const rest = { store, onStoreFailure: 'closed', timeout: '2s' };
  const { app, open, upstream, tunnel, hasRoom } = await start(rest);
  await until('Redis', hasRoom);
  let stream: Awaited<ReturnType<typeof open>>;
  await until('a stream', async () => {
    stream = await open();
    return stream !== undefined;
  });
  const changed = { ...rest, policies: [{ ...policies[0], timeout: '3s' }] };
  app.apply(configOf(gatewayFile(upstream.origin, { drainTime: '100ms' }, changed)));
  await until('a tunnel', async () => typeof (await tunnel()) === 'object');
  const held = async () => {
    const [key] = (await redis.command('KEYS', '*:cc')) as string[];
    return key === undefined ? 0 : Number(await redis.command('ZCARD', key));
  };
  expect(await held()).toBe(2);
  await app.stop();
  expect(await held()).toBe(0);
});

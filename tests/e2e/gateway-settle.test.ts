import { once } from 'node:events';
import { request as httpRequest, type ServerResponse } from 'node:http';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { startServer } from '../support/servers.js';
import {
  configOf,
  gatewayFile,
  onCleanup,
  openSocket,
  policyOf,
  startGateway,
  startUpstream,
  until,
} from './gateway-support.js';

const LIMIT = 1000;

/** What the gateway has counted for this machine; asking is one request of its own, which `count` gives back. */
async function usedAt(origin: string): Promise<number> {
  const { headers, body } = await request(`${origin}/look`);
  await body.dump();
  const left = /;r=(\d+)/.exec(String(headers.ratelimit))?.[1];
  return LIMIT - Number(left) - 1;
}

const settlesAt = (origin: string, used: number): Promise<void> =>
  until(`${used} charged`, async () => (await usedAt(origin)) === used);

/** Answers with the status that the path names; `/look` is a success for those who count failures. */
function answer(request: { readonly url?: string | undefined }, response: ServerResponse): void {
  const status = Number(/^\/(\d{3})$/.exec(request.url ?? '')?.[1] ?? 200);
  if (request.url === '/cut') response.destroy();
  else if (request.url === '/half') response.writeHead(200, { 'content-length': '10' }).write('half');
  else if (request.url !== '/never') response.writeHead(status).end('x');
}

const counting = (count: string, more: object = {}) => ({ policies: [policyOf(LIMIT, { count, ...more })] });

describe('with count: failures the gateway', () => {
  it('gives back what succeeded and keeps what failed, over real Redis', async () => {
    const redis = await startServer();
    onCleanup(() => redis.stop());
    const upstream = await startUpstream(answer);
    const store = `redis://127.0.0.1:${redis.port}`;
    const { origin } = await startGateway(
      gatewayFile(upstream.origin, {}, { store, timeout: '2s', ...counting('failures') }),
    );
    await until('Redis', async () => (await usedAt(origin)) >= 0);
    for (const status of [200, 204, 302, 404, 503, 200]) await (await request(`${origin}/${status}`)).body.dump();
    await settlesAt(origin, 2);
  });

  it('counts an upstream that cannot be reached, cuts its answer or is too late', async () => {
    const upstream = await startUpstream(answer);
    const routes = [
      { path: '/gone', upstream: 'http://127.0.0.1:1' },
      { path: '/never', upstream: upstream.origin, timeout: '50ms' },
      { path: '/', upstream: upstream.origin },
    ];
    const { origin } = await startGateway(gatewayFile(upstream.origin, { routes }, counting('failures')));
    for (const path of ['/gone', '/never', '/cut']) {
      const { statusCode, body } = await request(`${origin}${path}`);
      await body.dump();
      expect(statusCode).toBeGreaterThanOrEqual(502);
    }
    await settlesAt(origin, 3);
  });

  it.each(['/never', '/half'])('counts a client that leaves while it waits for %s', async (path) => {
    const upstream = await startUpstream(answer);
    const { port, origin } = await startGateway(gatewayFile(upstream.origin, {}, counting('failures')));
    const leaving = httpRequest({ host: '127.0.0.1', port, path, agent: false }).on('error', () => undefined);
    leaving.end();
    await until('the upstream', () => upstream.requests.length === 1);
    leaving.destroy();
    await settlesAt(origin, 1);
  });

  it('settles each of many requests on one connection, sent without waiting', async () => {
    const upstream = await startUpstream(answer);
    const { port, origin } = await startGateway(gatewayFile(upstream.origin, {}, counting('failures')));
    const { socket, received } = await openSocket(port);
    for (const status of [200, 500, 200, 404, 200]) socket.write(`GET /${status} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await until('five answers', () => received().split('HTTP/1.1 ').length === 6);
    await settlesAt(origin, 2);
  });

  it('settles with the rules of a request’s own time, also after a reload', async () => {
    const open: ServerResponse[] = [];
    const upstream = await startUpstream((incoming, response) => {
      if (incoming.url === '/later') open.push(response);
      else answer(incoming, response);
    });
    const file = gatewayFile(upstream.origin, {}, counting('failures'));
    const { app, origin } = await startGateway(file);
    const later = request(`${origin}/later`);
    await until('the upstream', () => open.length === 1);
    expect(await usedAt(origin)).toBe(1);
    app.apply(configOf(gatewayFile(upstream.origin, {}, counting('failures', { timeout: '49ms' }))));
    expect(await usedAt(origin)).toBe(1);
    open[0]?.end('done');
    await (await later).body.dump();
    await settlesAt(origin, 0);
  });
});

describe('a WebSocket', () => {
  async function startTunnels(route: object = {}) {
    const upstream = await startUpstream(answer);
    const sockets = new WebSocketServer({ noServer: true });
    upstream.server.on('upgrade', (incoming, socket, head) => {
      if (incoming.url === '/refused') return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      sockets.handleUpgrade(incoming, socket, head, () => undefined);
    });
    onCleanup(() => sockets.close());
    const routes = [{ path: '/', upstream: upstream.origin, ...route }];
    const running = await startGateway(gatewayFile(upstream.origin, { routes }, counting('failures')));
    return { ...running, upstream };
  }

  it('is charged as long as it is open, and given back at its end', async () => {
    const { port, origin } = await startTunnels();
    const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`);
    await once(socket, 'open');
    expect(await usedAt(origin)).toBe(1);
    socket.close();
    await settlesAt(origin, 0);
  });

  it('that is refused by its upstream has failed', async () => {
    const { port, origin } = await startTunnels();
    const socket = new WebSocket(`ws://127.0.0.1:${port}/refused`).on('error', () => undefined);
    await new Promise((resolve) => socket.on('close', resolve));
    await settlesAt(origin, 1);
  });

  it('whose upstream does not answer has failed', async () => {
    const { port, origin, upstream } = await startTunnels({ timeout: '100ms' });
    upstream.server.removeAllListeners('upgrade');
    upstream.server.on('upgrade', (_, peer) => peer.on('error', () => undefined));
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`).on('error', () => undefined);
    await new Promise((resolve) => socket.on('close', resolve));
    await settlesAt(origin, 1);
  });

  it('is settled by the limiter that charged it, also after a reload', async () => {
    const { app, port, origin } = await startTunnels();
    const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`);
    await once(socket, 'open');
    app.apply(configOf(gatewayFile('echo', {}, counting('failures', { cost: 3 }))));
    const costly = async () => (await usedAt(origin)) - 2;
    expect(await costly()).toBe(1);
    socket.close();
    await until('the charge of the old limiter given back', async () => (await costly()) === 0);
  });
});

describe('lists and plans of the file', () => {
  const asking = async (origin: string, headers: Record<string, string> = {}) => {
    const { statusCode, headers: received, body } = await request(origin, { headers });
    await body.dump();
    return { status: statusCode, quota: received['ratelimit-policy'], type: received['content-type'] };
  };

  it('refuse, let past and give plans, and follow a reload', async () => {
    const policy = policyOf(1, {
      key: 'header:x-key',
      plans: { pro: { fixedWindow: { limit: 7, window: '1m' } } },
      plan: { by: 'header:x-key', of: { acme: 'pro' } },
      allow: { subjects: ['friend'] },
      deny: { subjects: ['thief'] },
    });
    const { app, origin } = await startGateway(gatewayFile('echo', {}, { policies: [policy] }));
    expect(await asking(origin, { 'x-key': 'thief' })).toEqual({
      status: 403,
      quota: undefined,
      type: 'application/problem+json',
    });
    for (let i = 0; i < 3; i++) expect(await asking(origin, { 'x-key': 'friend' })).toMatchObject({ status: 200 });
    expect(await asking(origin, { 'x-key': 'acme' })).toMatchObject({ status: 200, quota: '"per-client";q=7;w=60' });
    expect(await asking(origin, { 'x-key': 'other' })).toMatchObject({ quota: '"per-client";q=1;w=86400' });
    app.apply(configOf(gatewayFile('echo', {}, { policies: [policy], deny: '127.0.0.0/8' })));
    expect(await asking(origin, { 'x-key': 'friend' })).toMatchObject({ status: 403 });
    app.apply(configOf(gatewayFile('echo', {}, { policies: [policy], allow: 'loopback' })));
    expect(await asking(origin, { 'x-key': 'thief' })).toMatchObject({ status: 200 });
  });

  it('block who is refused too often', async () => {
    const policy = policyOf(1, { blocks: { after: 2, within: '1m', lasts: '5m' } });
    const { origin } = await startGateway(gatewayFile('echo', {}, { policies: [policy] }));
    for (let i = 0; i < 3; i++) await asking(origin);
    const { statusCode, headers, body } = await request(origin);
    expect(statusCode).toBe(429);
    expect(Number(headers['retry-after'])).toBeGreaterThan(290);
    expect(await body.json()).toMatchObject({
      title: 'Too Many Requests',
      detail: expect.stringContaining('5 minutes'),
    });
  });
});

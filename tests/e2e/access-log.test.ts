import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startApp } from '../../packages/server/src/app.js';
import { makeFolder, root, runCommand } from './cli-support.js';
import { configOf, gatewayFile, onCleanup, policyOf, recordLog, startUpstream, until } from './gateway-support.js';

const main = join(root, 'packages/server/dist/cli/main.js');

type Line = Readonly<Record<string, unknown>>;

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;

/** A server in this process, and the lines of its access log once it has stopped. */
async function started(file: object) {
  let text = '';
  const app = await startApp(configOf(file), recordLog().log, (lines) => {
    text += lines;
  });
  onCleanup(() => app.stop());
  const get = async (path: string, headers: Record<string, string> = {}, port = app.gateway?.port) => {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`, { headers });
    await body.dump();
    return statusCode;
  };
  const read = (): readonly Line[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  const lines = async (count: number): Promise<readonly Line[]> => {
    await until(`${count} lines`, () => read().length >= count);
    await app.stop();
    return read();
  };
  return { app, get, lines };
}

const api = { listen: '127.0.0.1:0' };
const routes = [{ path: '/shop', upstream: 'echo' }];

describe('the access log', () => {
  it('has a line for each request, and never the query', async () => {
    const shadowed = { ...policyOf(1), name: 'tried-out', shadow: true };
    const { get, lines } = await started(
      gatewayFile('echo', { routes }, { api, accessLog: true, policies: [policyOf(2), shadowed] }),
    );
    await get('/shop/a?token=secret', { traceparent });
    await get('/shop/b');
    await get('/shop/c#fragment');
    await get('/nowhere');
    const [first, second, third, fourth, ...rest] = await lines(4);
    expect(rest).toEqual([]);
    expect(first).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      door: 'gateway',
      method: 'GET',
      route: '/shop',
      path: '/shop/a',
      status: 200,
      durationMs: expect.any(Number),
      outcome: 'allowed',
      policy: 'per-client,tried-out',
      client: expect.stringMatching(/^[0-9a-f]{16}$/),
      traceId: TRACE,
    });
    expect(second).toMatchObject({
      outcome: 'allowed',
      policy: 'per-client',
      shadow: 'tried-out',
      client: first?.client,
    });
    expect(second).not.toHaveProperty('traceId');
    expect(third).toMatchObject({ path: '/shop/c', status: 429, outcome: 'denied', policy: 'per-client' });
    // Counted before its route was looked for.
    expect(fourth).toMatchObject({ route: 'none', path: '/nowhere', status: 429 });
  });

  it('names clients by address, behind trusted proxies too, or not at all', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    const file = (client: string) =>
      gatewayFile('echo', {}, { trustedProxies: ['loopback'], accessLog: { client, path: false } });
    const plain = await started(file('plain'));
    await plain.get('/a', headers);
    const [line] = await plain.lines(1);
    expect(line?.client).toBe('203.0.113.9');
    expect(line).not.toHaveProperty('path');
    // No policy, so nobody was asked.
    expect(line).not.toHaveProperty('outcome');
    const none = await started(file('none'));
    await none.get('/a', headers);
    expect((await none.lines(1))[0]).not.toHaveProperty('client');
  });

  it('says what became of faults, of outages and of tunnels', async () => {
    const store = 'redis://127.0.0.1:1';
    const closed = { ...policyOf(5), onStoreFailure: 'closed', match: { path: '/closed' } };
    const { app, get, lines } = await started(
      gatewayFile('echo', {}, { store, accessLog: true, policies: [closed, { ...policyOf(5), name: 'rest' }] }),
    );
    await get('/closed');
    await get('/a%2f%2e%2e%2fb');
    const socket = new WebSocket(`ws://127.0.0.1:${app.gateway?.port}/socket`);
    await new Promise((resolve) => socket.on('error', resolve));
    const found = await lines(3);
    expect(found).toMatchObject([
      { status: 503, outcome: 'error', policy: 'per-client', degraded: expect.stringMatching(/^closed:/) },
      { status: 400, route: 'none' },
      { status: 501, path: '/socket', outcome: 'allowed', policy: 'rest', degraded: expect.stringMatching(/^local:/) },
    ]);
    expect(found[1]).not.toHaveProperty('outcome');
  });

  it('has the requests to the API, but no probes', async () => {
    const { app, get, lines } = await started({ api, policies: [policyOf(5)], accessLog: true });
    for (const path of ['/livez', '/readyz', '/metrics', '/openapi.json']) await get(path, {}, app.api?.port);
    expect(await lines(1)).toMatchObject([{ door: 'api', route: '/openapi.json', status: 200 }]);
  });

  it('takes a sample, and follows a reload', async () => {
    const file = (accessLog: unknown) => gatewayFile('echo', {}, { accessLog });
    const { app, get, lines } = await started(file(false));
    await get('/off');
    app.apply(configOf(file({ sample: 0.5 })));
    for (let i = 0; i < 200; i++) await get('/sampled');
    app.apply(configOf(file(true)));
    await get('/last');
    const found = await lines(2);
    expect(found.at(-1)).toMatchObject({ path: '/last' });
    expect(found.filter(({ path }) => path === '/off')).toEqual([]);
    const sampled = found.filter(({ path }) => path === '/sampled').length;
    // Outside of this once in a billion runs.
    expect(sampled).toBeGreaterThan(55);
    expect(sampled).toBeLessThan(145);
  });

  it('is written by comporta serve', async () => {
    const folder = makeFolder();
    const file = join(folder, 'comporta.json');
    writeFileSync(file, JSON.stringify(gatewayFile('echo', {}, { accessLog: true })));
    const command = runCommand(['serve', '-c', file, '--log', 'json']);
    await until('the gateway', () => /gateway on http:\/\/127\.0\.0\.1:\d+/.test(command.output()));
    const [, port] = /gateway on http:\/\/127\.0\.0\.1:(\d+)/.exec(command.output()) ?? [];
    await (await request(`http://127.0.0.1:${port}/seen`)).body.dump();
    await command.says('"path":"/seen"');
  });

  it('may lose its reader: requests are answered as before', async () => {
    const file = join(makeFolder(), 'comporta.json');
    writeFileSync(file, JSON.stringify(gatewayFile('echo', {}, { accessLog: true })));
    const child = spawn(process.execPath, [main, 'serve', '-c', file, '--log', 'json']);
    onCleanup(() => child.kill('SIGKILL'));
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    const port = () => /gateway on http:\/\/127\.0\.0\.1:(\d+)/.exec(errors)?.[1];
    await until('the gateway', () => port() !== undefined);
    child.stdout.destroy();
    const get = async () => (await request(`http://127.0.0.1:${port()}/`)).body.dump();
    await get();
    // Longer than lines are kept back.
    await new Promise((resolve) => setTimeout(resolve, 300));
    await get();
    await new Promise((resolve) => setTimeout(resolve, 300));
    await get();
    expect(child.exitCode).toBeNull();
  });

  it.each([
    ['accessLog: { sample: 0 }', { sample: 0 }],
    ['accessLog: { client: "ip" }', { client: 'ip' }],
    ['accessLog: { querys: true }', { querys: true }],
  ])('cannot be %s', (_, accessLog) => {
    expect(() => configOf(gatewayFile('echo', {}, { accessLog }))).toThrow('accessLog');
  });
});

describe('trace context', () => {
  it('reaches the upstream unchanged, tunnels included', async () => {
    const upstream = await startUpstream();
    const { app, get } = await started(gatewayFile(upstream.origin));
    const sent = { traceparent, tracestate: 'a=1,b=2', baggage: 'user=x' };
    await get('/', sent);
    expect(upstream.requests[0]?.headers).toMatchObject(sent);
    upstream.server.on('upgrade', (incoming, socket) => {
      upstream.requests.push(incoming);
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    });
    const socket = new WebSocket(`ws://127.0.0.1:${app.gateway?.port}/`, { headers: sent });
    await new Promise((resolve) => socket.on('error', resolve));
    expect(upstream.requests[1]?.headers).toMatchObject(sent);
  });

  it('of a request that is refused reaches nobody', async () => {
    const upstream = await startUpstream();
    const { get } = await started(gatewayFile(upstream.origin, {}, { policies: [policyOf(0)] }));
    expect(await get('/', { traceparent })).toBe(429);
    expect(upstream.requests).toEqual([]);
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { installedProxies, startProxy } from './api-proxies.js';
import { ask, type RunningApi, startApi } from './api-support.js';
import { root } from './cli-support.js';
import { policyOf, startUpstream, type Upstream } from './gateway-support.js';

const portOf = ({ origin }: Upstream): number => Number(new URL(origin).port);

/** The API for proxies of this machine. */
const startFor = (policies: readonly object[], rest: object = {}): Promise<RunningApi> =>
  startApi({ authorize: true }, { trustedProxies: ['loopback'], policies, ...rest });

const limited = policyOf(5, { match: { path: '/limited/*' } });
const LIES = {
  'x-original-uri': '/free',
  'x-original-method': 'OPTIONS',
  'x-forwarded-uri': '/free',
  'x-forwarded-method': 'OPTIONS',
  'x-forwarded-host': 'free.example',
  'x-forwarded-for': '203.0.113.77',
  'x-comporta-status': '200',
};

describe.each(installedProxies.map((program) => [program.name, program] as const))('%s', (_, program) => {
  it('lets five requests pass, with the fields, and answers the sixth with 429 and Retry-After', async () => {
    const [api, upstream] = [await startFor([limited]), await startUpstream()];
    const port = await startProxy(program, { api: api.port, app: portOf(upstream) });
    const before = upstream.requests.length;
    for (let left = 4; left >= 0; left--) {
      const { status, headers, text } = await ask(port, '/limited/a?b=c');
      expect([status, text]).toEqual([200, 'ok']);
      expect(headers.ratelimit).toMatch(new RegExp(`^"per-client";r=${left};t=\\d+$`));
      expect(headers['ratelimit-policy']).toBe('"per-client";q=5;w=86400');
    }
    const { status, headers } = await ask(port, '/free');
    expect([status, headers.ratelimit, headers['ratelimit-policy']]).toEqual([200, undefined, undefined]);
    const refused = await ask(port, '/limited/a');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(86_000);
    expect(refused.headers['content-type']).toBe('application/problem+json');
    expect(refused.headers['cache-control']).toBe('no-store');
    expect(refused.headers.ratelimit).toMatch(/^"per-client";r=0;t=\d+$/);
    expect(refused.json).toMatchObject({ status: 429 });
    expect(upstream.requests.length - before).toBe(6);
  });

  it('tells the request as it is, whatever its client says of it', async () => {
    const one = policyOf(1, { match: { path: '/limited/*', methods: ['POST'], hosts: ['api.example'] } });
    const bodies: string[] = [];
    const upstream = await startUpstream((request, response) => {
      request.on('data', (chunk) => bodies.push(String(chunk))).on('end', () => response.end('ok'));
    });
    const api = await startFor([one]);
    const port = await startProxy(program, { api: api.port, app: portOf(upstream) });
    const post = (path: string, headers = {}) =>
      ask(port, path, { method: 'POST', body: 'what is sent', headers: { host: 'api.example', ...headers } });
    for (let i = 0; i < 3; i++) {
      expect((await post('/free')).status).toBe(200);
      expect((await ask(port, '/limited/a', { headers: { host: 'api.example' } })).status).toBe(200);
      expect((await post('/limited/a', { host: 'other.example' })).status).toBe(200);
    }
    expect((await post('/limited/a', LIES)).status).toBe(200);
    expect(bodies.at(-1)).toBe('what is sent');
    // The same client, whatever it says.
    expect((await post('/limited/b')).status).toBe(429);
    expect((await post('/limited/b', { ...LIES, 'x-forwarded-for': '203.0.113.78' })).status).toBe(429);
  });

  it('answers who is denied with 403, and with 503 where nobody can count', async () => {
    const upstream = await startUpstream();
    const denying = await startFor([policyOf(5)], { deny: ['loopback'] });
    const denied = await ask(await startProxy(program, { api: denying.port, app: portOf(upstream) }), '/');
    expect([denied.status, denied.headers['retry-after']]).toEqual([403, undefined]);
    const down = await startFor([policyOf(5, { onStoreFailure: 'closed' })], { store: 'redis://127.0.0.1:1' });
    const unable = await ask(await startProxy(program, { api: down.port, app: portOf(upstream) }), '/');
    expect([unable.status, unable.headers['retry-after']]).toEqual([503, '1']);
    expect(upstream.requests).toEqual([]);
  });

  it("leaves the application's own 403 alone, and does as its configuration says without the service", async () => {
    const upstream = await startUpstream((request, response) => {
      response.statusCode = request.url === '/forbidden' ? 403 : 200;
      response.end('by the application');
    });
    const api = await startFor([limited]);
    const port = await startProxy(program, { api: api.port, app: portOf(upstream) });
    expect(await ask(port, '/forbidden')).toMatchObject({ status: 403, text: 'by the application' });
    await api.app.stop();
    expect((await ask(port, '/')).status).toBe(program.statusWithoutService);
  });

  it('is told when it is not trusted, and lets nothing pass', async () => {
    const upstream = await startUpstream();
    const api = await startApi({ authorize: true }, { trustedProxies: ['192.0.2.0/24'], policies: [limited] });
    const port = await startProxy(program, { api: api.port, app: portOf(upstream) });
    expect((await ask(port, '/')).status).toBeGreaterThanOrEqual(400);
    expect(upstream.requests).toEqual([]);
  });
});

describe('the headers that Traefik sends', () => {
  const config = parse(readFileSync(join(root, 'examples/forward-auth/traefik.yaml'), 'utf8'));
  const path = new URL(config.http.middlewares.comporta.forwardAuth.address).pathname;
  const from = (client: string, more = {}) => ({
    'x-forwarded-method': 'GET',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'api.example',
    'x-forwarded-uri': '/limited/a?b=c',
    'x-forwarded-for': client,
    ...more,
  });

  it('are those of the request that is decided on', async () => {
    const hosted = policyOf(1, { match: { path: '/limited/*', methods: ['GET'], hosts: ['api.example'] } });
    const api = await startFor([hosted]);
    const status = async (headers: Record<string, string>) => (await api.ask(path, { headers })).status;
    expect(await status(from('203.0.113.1'))).toBe(200);
    expect(await status(from('203.0.113.1', { 'x-original-uri': '/free' }))).toBe(429);
    expect(await status(from('203.0.113.2'))).toBe(200);
    expect(await status(from('203.0.113.1', { 'x-forwarded-method': 'POST' }))).toBe(200);
    expect(await status(from('203.0.113.1', { 'x-forwarded-uri': '/free' }))).toBe(200);
    expect(await status(from('203.0.113.1', { 'x-forwarded-host': 'other.example' }))).toBe(200);
    const refused = await api.ask(path, { headers: from('203.0.113.1') });
    expect(refused.headers).toMatchObject({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.json).toMatchObject({ 'violated-policies': ['per-client'] });
  });
});

describe('/v1/authorize/POLICY', () => {
  const from = (uri: string) => ({
    headers: { 'x-forwarded-method': 'GET', 'x-forwarded-host': 'a', 'x-forwarded-uri': uri },
  });

  it('asks that policy alone, where it matches', async () => {
    const api = await startFor([limited, policyOf(1, { name: 'other' })]);
    const status = async (name: string, uri: string) => (await api.ask(`/v1/authorize/${name}`, from(uri))).status;
    for (let i = 0; i < 5; i++) expect(await status('per-client', '/limited/a')).toBe(200);
    expect(await status('per-client', '/limited/a')).toBe(429);
    expect(await status('per-client', '/free')).toBe(200);
    expect(await status('other', '/limited/a')).toBe(200);
    expect(await status('other', '/limited/a')).toBe(429);
    expect((await api.ask('/v1/authorize', from('/free'))).status).toBe(429);
  });

  it('knows the policies of api.authorize only, and names the nearest', async () => {
    const policies = [limited, policyOf(1, { name: 'failures', count: 'failures' })];
    const api = await startApi({ authorize: ['per-client'] }, { trustedProxies: ['loopback'], policies });
    expect((await api.ask('/v1/authorize/failures', from('/'))).status).toBe(404);
    const unknown = await api.ask('/v1/authorize/per-clint', from('/'));
    expect(unknown).toMatchObject({ status: 404, json: { detail: expect.stringContaining('"per-client"') } });
    for (let i = 0; i < 3; i++) expect((await api.ask('/v1/authorize', from('/'))).status).toBe(200);
    const off = await startApi({}, { trustedProxies: ['loopback'], policies });
    expect((await off.ask('/v1/authorize', from('/'))).status).toBe(404);
  });
});

import { describe, expect, it } from 'vitest';
import { exchangeRaw, gatewayFile, policyOf, startGateway, startUpstream } from './gateway-support.js';

const get = (port: number, target: string): Promise<string> =>
  exchangeRaw(port, `GET ${target} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`);

describe('a path that upstreams read in different ways', () => {
  it.each([
    '/api/../x',
    '/x/../api/y',
    '/api/%2e%2e/x',
    '/api/%2E./x',
    '/api//../x',
    '/api/;/../x',
    '/api/./../api//../x',
    '/api/..;/x',
    '/api/%2e%2e;/x',
    '/api/..%3b/x',
    '/x%2f..%2fapi',
    '/api/.',
    '/x\\..\\api/x',
    '/.\\api/x',
    '/api\\x',
    '/api%00/x',
    '/api%0d%0a/x',
  ])('%s is refused', async (target) => {
    const upstream = await startUpstream();
    const { port } = await startGateway(gatewayFile(upstream.origin));
    const answer = await get(port, target);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('application/problem+json');
    expect(upstream.requests).toHaveLength(0);
  });

  it.each(['//h/api/x', '///h/api/x', '/api//x', '/api;v=1/x', '/api%2fx', '//api/x', '/%61pi/x'])(
    '%s counts for the policy of /api',
    async (target) => {
      const upstream = await startUpstream();
      const policies = [policyOf(1, { match: { path: '/api/*' } })];
      const { port } = await startGateway(gatewayFile(upstream.origin, {}, { policies }));
      expect(await get(port, '/api/x')).toMatch(/^HTTP\/1\.1 200 /);
      expect(await get(port, target)).toMatch(/^HTTP\/1\.1 429 /);
      expect(upstream.requests).toHaveLength(1);
    },
  );

  it.each(['//h/api/x', '//api/x', '/api;v=1/x', '/api%2fx'])('%s takes none of two routes', async (target) => {
    const [api, site] = [await startUpstream(), await startUpstream()];
    const routes = [
      { path: '/api', upstream: api.origin },
      { path: '/', upstream: site.origin },
    ];
    const { port } = await startGateway(gatewayFile('echo', { routes }));
    expect(await get(port, target)).toMatch(/^HTTP\/1\.1 400 /);
    expect([...api.requests, ...site.requests]).toHaveLength(0);
  });

  it.each([
    '/.well-known/x',
    '/a/...',
    '/a..b/c',
    '/a%20b/%C3%A9',
    '/x;v=1/y',
    '/x?next=/../y\\z%00',
    '/a/b.',
    '/x//y',
  ])('%s is forwarded as received', async (target) => {
    const upstream = await startUpstream();
    const { port } = await startGateway(gatewayFile(upstream.origin));
    expect(await get(port, target)).toMatch(/^HTTP\/1\.1 200 /);
    expect(upstream.requests[0]?.url).toBe(target);
  });
});

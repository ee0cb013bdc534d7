import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { exchangeRaw, gatewayFile, policyOf, startGateway, startUpstream } from './gateway-support.js';

const close = 'Connection: close\r\n';

describe('headers to the upstream', () => {
  it('lose what belongs to one connection, and what Connection names', async () => {
    const upstream = await startUpstream();
    const { port } = await startGateway(gatewayFile(upstream.origin));
    const lines = [
      'Connection: close, X-Hop',
      'X-Hop: 1',
      'Keep-Alive: timeout=5',
      'Proxy-Connection: keep-alive',
      'TE: trailers, deflate',
    ];
    await exchangeRaw(port, `GET / HTTP/1.1\r\nHost: a\r\n${lines.join('\r\n')}\r\nX-Kept: 1\r\nX-Kept: 2\r\n\r\n`);
    const { headers } = upstream.requests[0] ?? { headers: {} };
    expect(headers).toMatchObject({ 'x-kept': '1, 2', te: 'trailers', connection: 'keep-alive' });
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['x-hop']));
    for (const name of ['x-hop', 'keep-alive', 'proxy-connection']) expect(headers).not.toHaveProperty(name);
  });

  it('name the client, and nothing that an untrusted client says about itself', async () => {
    const upstream = await startUpstream();
    const { port } = await startGateway(gatewayFile(upstream.origin));
    const forged = [
      'X-Forwarded-For: 9.9.9.9',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: b',
      'X-Forwarded-Port: 1',
      'X-Real-IP: 9.9.9.9',
      'Forwarded: for=9.9.9.9',
    ];
    await exchangeRaw(port, `GET / HTTP/1.1\r\nHost: a.example\r\n${close}${forged.join('\r\n')}\r\n\r\n`);
    const { headers } = upstream.requests[0] ?? { headers: {} };
    expect(headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'a.example',
    });
    for (const name of ['x-forwarded-port', 'x-real-ip', 'forwarded']) expect(headers).not.toHaveProperty(name);
  });

  it('keep what a trusted proxy says, and add the proxy to the chain', async () => {
    const upstream = await startUpstream();
    const { port } = await startGateway(gatewayFile(upstream.origin, {}, { trustedProxies: ['loopback'] }));
    const said = [
      'X-Forwarded-For: 9.9.9.9',
      'X-Forwarded-For: 10.0.0.1',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: b.example',
      'X-Forwarded-Port: 443',
    ];
    await exchangeRaw(port, `GET / HTTP/1.1\r\nHost: a.example\r\n${close}${said.join('\r\n')}\r\n\r\n`);
    expect(upstream.requests[0]?.headers).toMatchObject({
      'x-forwarded-for': '9.9.9.9, 10.0.0.1, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'b.example',
      'x-forwarded-port': '443',
    });
  });

  it('count the client that a trusted proxy names', async () => {
    const file = gatewayFile('echo', {}, { trustedProxies: ['127.0.0.1'], policies: [policyOf(1)] });
    const { origin } = await startGateway(file);
    const statusOf = async (client: string): Promise<number> => {
      const { statusCode, body } = await request(origin, { headers: { 'x-forwarded-for': client } });
      await body.dump();
      return statusCode;
    };
    expect([await statusOf('1.1.1.1'), await statusOf('1.1.1.1'), await statusOf('2.2.2.2')]).toEqual([200, 429, 200]);
  });

  it("carry the upstream's own Host, or the client's where the route keeps it", async () => {
    const upstream = await startUpstream();
    const routes = [
      { path: '/kept', upstream: upstream.origin, preserveHost: true },
      { path: '/', upstream: upstream.origin },
    ];
    const { port } = await startGateway(gatewayFile('echo', { routes }));
    for (const path of ['/', '/kept'])
      await exchangeRaw(port, `GET ${path} HTTP/1.1\r\nHost: a.example\r\n${close}\r\n`);
    expect(upstream.requests.map(({ headers }) => headers.host)).toEqual([upstream.origin.slice(7), 'a.example']);
  });
});

describe('headers to the client', () => {
  it('lose what belongs to the upstream connection', async () => {
    const upstream = await startUpstream((_, response) => {
      response.writeHead(200, {
        connection: 'keep-alive, x-hop',
        'x-hop': '1',
        'keep-alive': 'timeout=9',
        'set-cookie': ['a=1', 'b=2'],
      });
      response.end();
    });
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    const { headers, body } = await request(origin);
    await body.dump();
    expect(headers).not.toHaveProperty('x-hop');
    expect(headers['keep-alive']).toBe('timeout=65');
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
  });

  it('keep bytes beyond ASCII as they are', async () => {
    const upstream = await startUpstream(
      (incoming, response) => void response.setHeader('x-back', incoming.headers['x-name'] ?? '').end(),
    );
    const { port } = await startGateway(gatewayFile(upstream.origin));
    const answer = await exchangeRaw(port, `GET / HTTP/1.1\r\nHost: a\r\n${close}X-Name: caf\xe9\r\n\r\n`);
    expect(answer).toMatch(/x-back: caf\xe9\r\n/i);
  });
});

describe('a request that two parsers may read in two ways is refused:', () => {
  const rows: readonly (readonly [what: string, status: number, bytes: string])[] = [
    [
      'both lengths',
      400,
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two lengths', 400, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello'],
    ['a length that is no number', 400, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello'],
    ['an obscured coding', 400, 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n'],
    ['another coding', 501, 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['a bare line feed', 400, 'GET / HTTP/1.1\nHost: a\n\n'],
    ['a folded header', 400, 'GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n  X-B: 2\r\n\r\n'],
    ['an absolute target', 400, 'GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an asterisk target', 400, 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a fragment', 400, 'GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['no host', 400, 'GET / HTTP/1.1\r\n\r\n'],
    ['two hosts', 400, 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['a host with a path', 400, 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['a host with a user', 400, 'GET / HTTP/1.1\r\nHost: a@b\r\n\r\n'],
    ['a method for proxies', 405, 'CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n'],
    ['no HTTP at all', 400, 'hello\r\n\r\n'],
  ];

  it.each(rows)('%s', async (_, status, bytes) => {
    const upstream = await startUpstream();
    const { port } = await startGateway(gatewayFile(upstream.origin));
    const answer = await exchangeRaw(port, bytes);
    expect(answer.split('\r\n')[0]).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain('application/problem+json');
    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(upstream.requests).toHaveLength(0);
  });
});

describe('sizes', () => {
  it('answers 431 to headers over the cap', async () => {
    const { port } = await startGateway(gatewayFile('echo', { maxHeaderBytes: 2048 }));
    const answer = await exchangeRaw(port, `GET / HTTP/1.1\r\nHost: a\r\nX-Big: ${'x'.repeat(4000)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(answer).toContain('application/problem+json');
  });

  it('answers 413 to a declared body over the cap, before the upstream hears of it', async () => {
    const upstream = await startUpstream();
    const { origin } = await startGateway(gatewayFile(upstream.origin, { maxBodyBytes: 1000 }));
    const { statusCode, body } = await request(origin, { method: 'POST', body: Buffer.alloc(1001) });
    await body.dump();
    expect(statusCode).toBe(413);
    expect(upstream.requests).toHaveLength(0);
    const fitting = await request(origin, { method: 'POST', body: Buffer.alloc(1000) });
    await fitting.body.dump();
    expect(fitting.statusCode).toBe(200);
  });

  it('answers 413 to a body of unknown length once it is over the cap, and cuts the upstream request', async () => {
    let complete: boolean | undefined;
    const upstream = await startUpstream((incoming) => {
      incoming.on('close', () => (complete = incoming.complete)).on('error', () => undefined);
      incoming.resume();
    });
    const { port } = await startGateway(gatewayFile(upstream.origin, { maxBodyBytes: 1000 }));
    const chunk = `400\r\n${'x'.repeat(1024)}\r\n`;
    const answer = await exchangeRaw(
      port,
      `POST / HTTP/1.1\r\nHost: a\r\n${close}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(complete).not.toBe(true);
  });

  it('answers 408 to headers that do not come', async () => {
    const { port } = await startGateway(gatewayFile('echo', { headersTimeout: '200ms' }));
    expect(await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n')).toMatch(/^HTTP\/1\.1 408 /);
  });
});

import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { Agent, request } from 'undici';
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

describe('decisions', () => {
  it('forwards admitted requests with the rate-limit fields added', async () => {
    const upstream = await startUpstream((_, response) => void response.writeHead(201, { 'x-own': 'yes' }).end('made'));
    const { origin } = await startGateway(gatewayFile(upstream.origin, {}, { policies: [policyOf(5)] }));
    const { statusCode, headers, body } = await request(`${origin}/things?x=1`);
    expect(statusCode).toBe(201);
    expect(await body.text()).toBe('made');
    expect(headers['x-own']).toBe('yes');
    expect(headers.ratelimit).toMatch(/^"per-client";r=4/);
    expect(headers['ratelimit-policy']).toContain('"per-client";q=5');
    expect(upstream.requests[0]?.url).toBe('/things?x=1');
  });

  it('never lets a denied request reach the upstream, and explains the denial', async () => {
    const upstream = await startUpstream();
    const { origin } = await startGateway(gatewayFile(upstream.origin, {}, { policies: [policyOf(1)] }));
    await (await request(origin)).body.dump();
    const { statusCode, headers, body } = await request(origin, { method: 'POST', body: 'x'.repeat(1000) });
    expect(statusCode).toBe(429);
    expect(headers['content-type']).toBe('application/problem+json');
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(await body.json()).toMatchObject({ status: 429, 'violated-policies': ['per-client'] });
    expect(upstream.requests).toHaveLength(1);
  });

  it('answers a denied upload without waiting for its body', async () => {
    const upstream = await startUpstream();
    const { port } = await startGateway(gatewayFile(upstream.origin, {}, { policies: [policyOf(0)] }));
    const answer = await exchangeRaw(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\nfirst bytes');
    expect(answer).toMatch(/^HTTP\/1\.1 429 /);
    expect(answer).toMatch(/connection: close/i);
    expect(upstream.requests).toHaveLength(0);
  });

  it('keeps the connection of a denied request whose body is small', async () => {
    const { origin } = await startGateway(gatewayFile('echo', {}, { policies: [policyOf(0)] }));
    const agent = new Agent({ connections: 1 });
    onCleanup(() => agent.close());
    let connections = 0;
    agent.on('connect', () => connections++);
    for (let i = 0; i < 3; i++) {
      const { statusCode, body } = await request(origin, {
        dispatcher: agent,
        method: 'POST',
        body: 'x'.repeat(20_000),
      });
      await body.dump();
      expect(statusCode).toBe(429);
    }
    expect(connections).toBe(1);
  });

  it('exposes the fields to callers of other origins, on answers and on denials', async () => {
    const { origin } = await startGateway(gatewayFile('echo', {}, { policies: [policyOf(1)] }));
    const headers = { origin: 'https://app.example' };
    const admitted = await request(origin, { headers });
    await admitted.body.dump();
    expect(admitted.headers['access-control-expose-headers']).toBe('ratelimit-policy, ratelimit, retry-after');
    const denied = await request(origin, { headers });
    await denied.body.dump();
    expect(denied.statusCode).toBe(429);
    expect(denied.headers['access-control-expose-headers']).toContain('retry-after');
  });

  it('does not count preflight requests', async () => {
    const { origin } = await startGateway(gatewayFile('echo', {}, { policies: [policyOf(1)] }));
    for (let i = 0; i < 3; i++) {
      const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
      const { statusCode, body } = await request(origin, { method: 'OPTIONS', headers });
      await body.dump();
      expect(statusCode).toBe(200);
    }
  });

  it("joins its fields with the upstream's own", async () => {
    const upstream = await startUpstream(
      (_, response) => void response.setHeader('RateLimit', '"inner";r=7;t=3').end(),
    );
    const { origin } = await startGateway(gatewayFile(upstream.origin, {}, { policies: [policyOf(5)] }));
    const { headers, body } = await request(origin);
    await body.dump();
    expect(headers.ratelimit).toMatch(/^"inner";r=7;t=3, "per-client";r=4/);
  });

  it('forwards everything when there are no policies', async () => {
    const { origin } = await startGateway(gatewayFile('echo'));
    const { statusCode, headers, body } = await request(`${origin}/a`, { method: 'PUT', body: 'hello' });
    expect(statusCode).toBe(200);
    expect(headers.ratelimit).toBeUndefined();
    expect(await body.json()).toMatchObject({ method: 'PUT', path: '/a', bodyBytes: 5 });
  });
});

describe('routes', () => {
  it('chooses by path and host, as normalised, and forwards the path as received', async () => {
    const [api, site, other] = [await startUpstream(), await startUpstream(), await startUpstream()];
    const routes = [
      { path: '/', host: '*.other.example', upstream: other.origin },
      { path: '/api', upstream: api.origin },
      { path: '/', upstream: site.origin },
    ];
    const { port } = await startGateway(gatewayFile('echo', { routes }));
    const get = (path: string, host = 'a.example') =>
      exchangeRaw(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    for (const path of ['/api', '/api/x?y=1', '/API/b', '/api//c', '/%61pi/d', '/apix', '/x//api']) await get(path);
    await get('/api', 'A.Other.Example:80');
    expect(api.requests.map(({ url }) => url)).toEqual(['/api', '/api/x?y=1', '/API/b', '/api//c', '/%61pi/d']);
    expect(site.requests.map(({ url }) => url)).toEqual(['/apix', '/x//api']);
    expect(other.requests.map(({ url }) => url)).toEqual(['/api']);
  });

  it('answers 404 where no route fits', async () => {
    const { origin } = await startGateway(gatewayFile('echo', { routes: [{ path: '/api', upstream: 'echo' }] }));
    const { statusCode, headers, body } = await request(`${origin}/else`);
    expect(statusCode).toBe(404);
    expect(headers['content-type']).toBe('application/problem+json');
    await body.dump();
  });

  it('removes the prefix where told to, whatever its spelling', async () => {
    const upstream = await startUpstream();
    const routes = [{ path: '/api', upstream: upstream.origin, stripPrefix: true }];
    const { port } = await startGateway(gatewayFile('echo', { routes }));
    for (const path of ['/api', '/api/Users?x=/api', '/api?q', '/%61pi/A%20b', '/api//h/c']) {
      await exchangeRaw(port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    }
    expect(upstream.requests.map(({ url }) => url)).toEqual(['/', '/Users?x=/api', '/?q', '/A%20b', '/h/c']);
  });
});

describe('broken and slow upstreams', () => {
  it('answers 502 when the upstream refuses connections', async () => {
    const upstream = await startUpstream();
    upstream.server.close();
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    const { statusCode, headers, body } = await request(origin, { method: 'POST', body: 'with a body' });
    expect(statusCode).toBe(502);
    expect(headers['content-type']).toBe('application/problem+json');
    expect(await body.json()).toMatchObject({ title: 'Bad gateway' });
  });

  it('answers 502 when the upstream resets before its headers', async () => {
    const upstream = await startUpstream((incoming) => void incoming.socket.destroy());
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    const { statusCode, body } = await request(origin);
    await body.dump();
    expect(statusCode).toBe(502);
  });

  it("answers 504 after the route's timeout, and ends the upstream request", async () => {
    let closed = false;
    const upstream = await startUpstream((incoming) => void incoming.on('close', () => (closed = true)));
    const routes = [{ path: '/', upstream: upstream.origin, timeout: '100ms' }];
    const { origin } = await startGateway(gatewayFile('echo', { routes }));
    const { statusCode, body } = await request(origin);
    await body.dump();
    expect(statusCode).toBe(504);
    await until('the upstream request to end', () => closed);
  });

  it('answers 408 when the client stops sending its body', async () => {
    const upstream = await startUpstream((incoming) => void incoming.resume());
    const routes = [{ path: '/', upstream: upstream.origin, timeout: '100ms' }];
    const { port } = await startGateway(gatewayFile('echo', { routes }));
    const answer = await exchangeRaw(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nsome');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('cuts the client when the upstream dies inside its body', async () => {
    const upstream = await startUpstream((incoming, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('part', () => incoming.socket.destroy());
    });
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    const { body } = await request(origin);
    await expect(body.text()).rejects.toThrow();
  });

  it('ends the upstream request when the client goes away', async () => {
    let started = false;
    let closed = false;
    const upstream = await startUpstream((_, response) => {
      started = true;
      response.on('close', () => (closed = true));
      response.writeHead(200).write('first');
    });
    const { port } = await startGateway(gatewayFile(upstream.origin));
    const { socket } = await openSocket(port);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await until('the request to arrive', () => started);
    socket.destroy();
    await until('the upstream request to end', () => closed);
  });

  it('goes on serving after faults of every kind', async () => {
    const upstream = await startUpstream((incoming, response) => {
      if (incoming.url === '/reset') incoming.socket.destroy();
      else if (incoming.url === '/garbage') incoming.socket.end('no http at all\r\n\r\n');
      else if (incoming.url === '/both')
        incoming.socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
      else {
        response.writeEarlyHints({ link: '</style.css>; rel=preload' });
        response.end('fine');
      }
    });
    const { origin, lines } = await startGateway(gatewayFile(upstream.origin));
    for (const path of ['/reset', '/garbage', '/both']) {
      const answer = await request(`${origin}${path}`).catch(() => undefined);
      await answer?.body.dump().catch(() => undefined);
    }
    const { body } = await request(origin);
    expect(await body.text()).toBe('fine');
    expect(lines).toEqual([expect.stringMatching(/^warn upstream failed .*"cause":"connection/)]);
  });
});

describe('connections', () => {
  it('reuses upstream connections', async () => {
    const upstream = await startUpstream();
    let connections = 0;
    upstream.server.on('connection', () => connections++);
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    for (let i = 0; i < 20; i++) await (await request(origin)).body.dump();
    expect(connections).toBe(1);
  });

  it('relays 204, 304, HEAD, trailers and bodies of unknown length', async () => {
    const upstream = await startUpstream((incoming, response) => {
      if (incoming.url === '/204') response.writeHead(204).end();
      else if (incoming.url === '/304') response.writeHead(304, { etag: '"x"' }).end();
      else if (incoming.url === '/chunked') {
        response.writeHead(200, { trailer: 'X-Sum' });
        response.write('one ');
        response.addTrailers({ 'X-Sum': '7' });
        response.end('two');
      } else response.writeHead(200, { 'content-length': '5' }).end('12345');
    });
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    const empty = await request(`${origin}/204`);
    expect([empty.statusCode, await empty.body.text()]).toEqual([204, '']);
    const same = await request(`${origin}/304`);
    expect([same.statusCode, same.headers.etag, await same.body.text()]).toEqual([304, '"x"', '']);
    const head = await request(`${origin}/`, { method: 'HEAD' });
    expect([head.statusCode, head.headers['content-length'], await head.body.text()]).toEqual([200, '5', '']);
    const chunked = await request(`${origin}/chunked`);
    expect(await chunked.body.text()).toBe('one two');
    expect(chunked.trailers).toEqual({ 'x-sum': '7' });
  });

  it('sends "100 Continue" once the upstream is reached, and not for a denied request', async () => {
    const upstream = await startUpstream((incoming, response) => {
      let text = '';
      incoming.on('data', (chunk) => (text += chunk)).on('end', () => response.end(text));
    });
    const { port } = await startGateway(gatewayFile(upstream.origin, {}, { policies: [policyOf(1)] }));
    const post = async (): Promise<readonly [boolean, number, string]> => {
      let isContinued = false;
      const outgoing = httpRequest({ port, method: 'POST', headers: { expect: '100-continue', 'content-length': 4 } });
      outgoing.on('continue', () => {
        isContinued = true;
        outgoing.end('body');
      });
      outgoing.on('error', () => undefined);
      outgoing.flushHeaders();
      const [response] = await once(outgoing, 'response');
      let text = '';
      for await (const chunk of response) text += chunk;
      outgoing.destroy();
      return [isContinued, response.statusCode, text];
    };
    expect(await post()).toEqual([true, 200, 'body']);
    expect((await post()).slice(0, 2)).toEqual([false, 429]);
  });

  it('relays an answer that comes before the end of the upload', async () => {
    const upstream = await startUpstream((_, response) => void response.writeHead(401).end('who are you'));
    const { origin } = await startGateway(gatewayFile(upstream.origin));
    const { statusCode, body } = await request(origin, { method: 'POST', body: Buffer.alloc(400_000) });
    expect(statusCode).toBe(401);
    expect(await body.text()).toBe('who are you');
  });
});

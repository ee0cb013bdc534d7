import { once } from 'node:events';
import { createServer } from 'node:net';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { freePort } from '../support/ports.js';
import { startServer } from '../support/servers.js';
import { gatewayFile, onCleanup, policyOf, type Running, startGateway, until } from './gateway-support.js';

const api = { listen: '127.0.0.1:0' };

async function statusOf({ origin }: Running): Promise<number> {
  const { statusCode, body } = await request(origin);
  await body.dump();
  return statusCode;
}

async function readiness({ app }: Running): Promise<readonly [number, Record<string, string>]> {
  const { statusCode, body } = await request(`http://127.0.0.1:${app.api?.port}/readyz`);
  return [statusCode, (await body.json()) as Record<string, string>];
}

async function startRedis(port?: number): Promise<string> {
  const server = await startServer(port === undefined ? {} : { port });
  onCleanup(() => server.stop());
  return server.url;
}

describe('a gateway with Redis', () => {
  it('counts together with other gateways', async () => {
    const store = await startRedis();
    const file = gatewayFile('echo', {}, { store, timeout: '2s', api, policies: [policyOf(3)] });
    const [a, b] = [await startGateway(file), await startGateway(file)];
    expect([await statusOf(a), await statusOf(b), await statusOf(a), await statusOf(b)]).toEqual([200, 200, 200, 429]);
    expect(await readiness(a)).toEqual([200, { status: 'pass' }]);
    // On a busy machine the connection may take longer than the start waits.
    expect(a.lines.filter((line) => !line.includes('still connecting'))).toEqual([]);
  });

  it('starts without it, says so, counts by itself, and says when it is back', async () => {
    const port = await freePort();
    const file = gatewayFile('echo', {}, { store: `redis://127.0.0.1:${port}`, api, policies: [policyOf(1)] });
    const gateway = await startGateway(file);
    expect(gateway.lines).toEqual([expect.stringMatching(/^warn the store does not answer yet/)]);
    expect([await statusOf(gateway), await statusOf(gateway)]).toEqual([200, 429]);
    const [status, { status: word, reason }] = await readiness(gateway);
    expect([status, word]).toEqual([200, 'warn']);
    expect(reason).toMatch(/^store: /);
    const startedMs = Date.now();
    await startRedis(port);
    await until('the line', () => gateway.lines.some((line) => line.includes('the store answers again')));
    expect(Date.now() - startedMs).toBeLessThan(4000);
    await until('readiness', async () => (await readiness(gateway))[1].status === 'pass');
    expect(gateway.lines).toHaveLength(2);
  });

  it('is not ready without it when a policy refuses then', async () => {
    const store = `redis://127.0.0.1:${await freePort()}`;
    const file = gatewayFile('echo', {}, { store, api, policies: [policyOf(5, { onStoreFailure: 'closed' })] });
    const gateway = await startGateway(file);
    const { statusCode, headers, body } = await request(gateway.origin);
    expect(statusCode).toBe(503);
    expect(headers).not.toHaveProperty('ratelimit');
    expect(await body.json()).toMatchObject({ status: 503 });
    expect((await readiness(gateway))[0]).toBe(503);
  });

  it('answers in time when Redis accepts connections and then says nothing', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const sockets = new Set<{ destroy(): void }>();
    silent.on('connection', (socket) => sockets.add(socket));
    onCleanup(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const { port } = silent.address() as { port: number };
    const gateway = await startGateway(
      gatewayFile('echo', {}, { store: `redis://127.0.0.1:${port}`, policies: [policyOf(9)] }),
    );
    const startedMs = performance.now();
    expect(await statusOf(gateway)).toBe(200);
    expect(performance.now() - startedMs).toBeLessThan(1000);
  });
});

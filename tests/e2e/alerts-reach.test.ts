import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { freePort } from '../support/ports.js';
import { SECRET, startReceiver } from './alerts-support.js';
import { gatewayFile, onCleanup, policyOf, startGateway, until } from './gateway-support.js';

const webhook = (url: string): object => ({ webhook: { url, secret: SECRET } });
const fileWith = (sinks: readonly object[], more: object = { allowInsecure: true }): object =>
  gatewayFile('echo', {}, { alerts: { sinks, ...more }, policies: [policyOf(9)] });

describe('a sink that cannot be reached at the start', () => {
  it('is warned of by its place in the file, without its address, and nobody waits for it', async () => {
    const receiver = await startReceiver();
    const startedMs = performance.now();
    const gone = `http://127.0.0.1:${await freePort()}/secret-path`;
    const gateway = await startGateway(fileWith([webhook(receiver.origin), webhook(gone)]));
    expect(performance.now() - startedMs).toBeLessThan(1500);
    await until('the line', () => gateway.lines.length > 0);
    expect(gateway.lines).toEqual([expect.stringMatching(/^warn an alert sink cannot be reached now/)]);
    expect(gateway.lines[0]).toContain('alerts.sinks[1].webhook');
    expect(gateway.lines[0]).toContain('ECONNREFUSED');
    expect(gateway.lines[0]).not.toContain('secret-path');
    expect(receiver.received).toEqual([]);
  });

  it('is found also where it takes connections and speaks no TLS', async () => {
    const server = createServer((socket) => socket.on('data', () => socket.end('HTTP/1.1 400 no\r\n\r\n')));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onCleanup(async () => void server.close());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const gateway = await startGateway(fileWith([webhook(url)]));
    await until('the line', () => gateway.lines.length > 0);
    expect(gateway.lines[0]).toMatch(/cannot be reached now.*alerts\.sinks\[0\]\.webhook/);
  });

  it('keeps no stopping server waiting', async () => {
    const server = createServer(() => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onCleanup(async () => void server.close());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const gateway = await startGateway(fileWith([webhook(url)]));
    const startedMs = performance.now();
    await gateway.app.stop();
    expect(performance.now() - startedMs).toBeLessThan(1000);
    expect(gateway.lines).toEqual([]);
  });
});

import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startApp } from '../../packages/server/src/app.js';
import { loadConfig } from '../../packages/server/src/config/load.js';
import { makeCertificate } from '../support/certificate.js';
import { apiFile, ask, running, startApi, TOKEN } from './api-support.js';
import { makeFolder } from './cli-support.js';
import { exchangeRaw, onCleanup, openSocket, recordLog, until } from './gateway-support.js';

const check = JSON.stringify({ policy: 'per-key', subject: 's' });
const head = (more: readonly string[]): string =>
  [
    'POST /v1/consume HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${TOKEN}`,
    'Content-Type: application/json',
    ...more,
    '',
    '',
  ].join('\r\n');

describe('connections', () => {
  it('a body that does not come in time is answered with 408, and one that is cut off disturbs nobody', async () => {
    const { port, lines, post } = await startApi({ requestTimeout: '200ms' });
    const answer = await exchangeRaw(port, `${head(['Content-Length: 100'])}{"pol`);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('application/problem+json');
    const { socket } = await openSocket(port);
    socket.write(`${head(['Content-Length: 100'])}{"pol`);
    socket.destroy();
    expect((await post('/v1/consume', JSON.parse(check))).status).toBe(200);
    expect(lines).toEqual([]);
  });

  it('what is no HTTP is answered with 400, headers beyond the bound with 431', async () => {
    const { port } = await startApi();
    expect(await exchangeRaw(port, 'what\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*application\/problem\+json/s);
    const large = `GET /livez HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`;
    expect(await exchangeRaw(port, large)).toMatch(/^HTTP\/1\.1 431 .*application\/problem\+json/s);
  });

  it('are kept for several calls, sent one behind the other', async () => {
    const { port } = await startApi();
    const { socket, received } = await openSocket(port);
    const call = `${head([`Content-Length: ${check.length}`])}${check}`;
    socket.write(call + call + call);
    await until('three answers', () => received().split('HTTP/1.1 200').length === 4);
    expect(received().match(/"remaining":(\d+)/g)).toEqual(['"remaining":9', '"remaining":8', '"remaining":7']);
  });

  it('a caller that waits for "100 Continue" gets its refusal before it sends', async () => {
    const { port } = await startApi();
    const expecting = ['Expect: 100-continue', 'Connection: close'];
    const refused = await exchangeRaw(port, head([...expecting, 'Content-Length: 1000000']));
    expect(refused).toMatch(/^HTTP\/1\.1 413 /);
    const { socket, received } = await openSocket(port);
    socket.write(head([...expecting, `Content-Length: ${check.length}`]));
    await until('100 Continue', () => received().startsWith('HTTP/1.1 100 '));
    socket.write(check);
    await until('the decision', () => received().includes('"allowed":true'));
  });

  it('the end of the process waits for answers under way, and takes no more', async () => {
    const { port, app } = await startApi();
    const { socket, received } = await openSocket(port);
    socket.write(`${head([`Content-Length: ${check.length}`])}${check.slice(0, 5)}`);
    await ask(port, '/livez');
    const [stopped, closed] = [app.stop(), once(socket, 'close')];
    socket.write(check.slice(5));
    await Promise.all([stopped, closed]);
    expect(received()).toMatch(/^HTTP\/1\.1 200 /);
    expect(received()).toMatch(/connection: close/i);
    await expect(ask(port, '/livez')).rejects.toThrow();
  });
});

describe('after the signal to end', () => {
  it('requests are answered for the drain delay, and whoever asks for health is told', async () => {
    const { port, app, ask: get, post } = await startApi({ drainDelay: '300ms' });
    const kept = await openSocket(port);
    kept.socket.write(head([`Content-Length: ${check.length}`]) + check);
    await until('an answer', () => kept.received().endsWith('}'));
    const [stopped, closed] = [app.stop(), once(kept.socket, 'close')];
    expect(await get('/readyz')).toMatchObject({ status: 503, headers: { connection: 'close' } });
    expect((await post('/v1/consume', JSON.parse(check))).status).toBe(200);
    kept.socket.write(head([`Content-Length: ${check.length}`]) + check);
    await Promise.all([stopped, closed]);
    expect(kept.received().match(/HTTP\/1\.1 \d+|^connection: .*$/gim)).toEqual([
      'HTTP/1.1 200',
      expect.stringMatching(/keep-alive/i),
      'HTTP/1.1 200',
      expect.stringMatching(/close/i),
    ]);
    await expect(ask(port, '/livez')).rejects.toThrow();
  });
});

describe('pages of other origins', () => {
  const origin = 'https://app.example';
  const asking = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };

  it('may not call, unless their origin is listed', async () => {
    const closed = await startApi();
    const { status, headers } = await closed.ask('/v1/consume', { method: 'OPTIONS', headers: asking });
    expect([status, headers['access-control-allow-origin']]).toEqual([405, undefined]);
    const open = await startApi({ cors: [origin] });
    const allowed = await open.ask('/v1/consume', { method: 'OPTIONS', headers: asking });
    expect(allowed).toMatchObject({
      status: 204,
      headers: { 'access-control-allow-origin': origin, 'access-control-allow-methods': 'POST', vary: 'origin' },
    });
    const answer = await open.post('/v1/consume', JSON.parse(check), { origin });
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'origin' });
    const other = await open.post('/v1/consume', JSON.parse(check), { origin: 'https://evil.example' });
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
    const refused = await open.ask('/v1/consume', {
      method: 'OPTIONS',
      headers: { ...asking, origin: 'https://evil.example' },
    });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([405, undefined]);
  });
});

/** A certificate signed by itself for `redis.test`, an authority of its own at the same time. */
function certificates(dir: string) {
  const made = makeCertificate(dir);
  return { ...made, ca: made.cert };
}

interface Shown {
  readonly cert?: string;
  readonly key?: string;
}

function askTls(port: number, ca: string, path: string, shown: Shown = {}): Promise<{ status: number; text: string }> {
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 0 });
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const method = path.startsWith('/v1') ? 'POST' : 'GET';
  return new Promise((resolve, reject) => {
    const call = request(
      { host: '127.0.0.1', port, path, method, headers, ca, servername: 'redis.test', agent, ...shown },
      (response) => {
        let text = '';
        response
          .on('data', (chunk) => (text += chunk))
          .on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    call.on('error', reject);
    call.end(method === 'POST' ? check : undefined);
  });
}

/** Starts from a file whose folder is `dir`. */
async function startFrom(dir: string, api: object) {
  const loaded = loadConfig(JSON.stringify(apiFile(api)), {}, (name) => readFileSync(join(dir, name), 'utf8'));
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  const { log, lines } = recordLog();
  const app = await startApp(loaded.config, log);
  onCleanup(() => app.stop());
  return running(app, lines);
}

describe('TLS', () => {
  it('asks for a certificate of the authority where one is named; health needs none', async () => {
    const [dir, other] = [makeFolder(), makeFolder()];
    const [ours, theirs] = [certificates(dir), certificates(other)];
    const { port } = await startFrom(dir, { tls: { cert: 'cert.pem', key: 'key.pem', ca: 'cert.pem' } });
    expect(await askTls(port, ours.ca, '/v1/consume', ours)).toMatchObject({ status: 200 });
    for (const shown of [{}, { cert: theirs.cert, key: theirs.key }]) {
      const refused = await askTls(port, ours.ca, '/v1/consume', shown);
      expect([refused.status, JSON.parse(refused.text)]).toMatchObject([403, { status: 403 }]);
      expect(await askTls(port, ours.ca, '/livez', shown)).toMatchObject({ status: 200 });
    }
    await expect(askTls(port, theirs.ca, '/livez')).rejects.toThrow();
    await expect(ask(port, '/livez')).rejects.toThrow();
  });

  it('takes a renewed certificate, and keeps the old one while the new cannot be used', async () => {
    const [dir, next] = [makeFolder(), makeFolder()];
    const [first, second] = [certificates(dir), certificates(next)];
    const { port, lines } = await startFrom(dir, { tls: { cert: 'cert.pem', key: 'key.pem' } });
    expect(await askTls(port, first.ca, '/v1/consume')).toMatchObject({ status: 200 });
    // Half of a renewal: the key is not the certificate's.
    copyFileSync(join(next, 'cert.pem'), join(dir, 'cert.pem'));
    await until('the fault to be told', () => lines.some((line) => line.includes('not renewed')));
    expect(await askTls(port, first.ca, '/livez')).toMatchObject({ status: 200 });
    copyFileSync(join(next, 'key.pem'), join(dir, 'key.pem'));
    await until('the renewal', () => lines.some((line) => line.includes('certificate of the API renewed')));
    expect(await askTls(port, second.ca, '/livez')).toMatchObject({ status: 200 });
    await expect(askTls(port, first.ca, '/livez')).rejects.toThrow();
    expect(lines.filter((line) => line.includes('not renewed')).length).toBe(1);
    expect(lines.join()).not.toContain('PRIVATE');
  });
});

import { copyFileSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startApp } from '../../packages/server/src/app.js';
import { loadConfig } from '../../packages/server/src/config/load.js';
import { makeCertificate } from '../support/certificate.js';
import { until } from '../support/wait.js';
import { adminFile, READ } from './admin-support.js';
import { ask } from './api-support.js';
import { makeFolder } from './cli-support.js';
import { onCleanup, recordLog } from './gateway-support.js';

/** Starts from a file whose folder is `dir`. */
async function startFrom(dir: string, admin: object) {
  const loaded = loadConfig(JSON.stringify(adminFile(admin)), {}, (name) => readFileSync(join(dir, name), 'utf8'));
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  const { log, lines } = recordLog();
  const app = await startApp(loaded.config, log);
  onCleanup(() => app.stop());
  return { port: app.admin?.port ?? 0, lines };
}

/** The status of one look at the policies, by a caller that trusts `ca` and may show a certificate. */
function look(port: number, ca: string, shown: { cert?: string; key?: string } = {}): Promise<number | undefined> {
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 0 });
  const headers = { authorization: `Bearer ${READ}` };
  const options = { host: '127.0.0.1', port, path: '/admin/policies', headers, ca, servername: 'redis.test', agent };
  return new Promise((resolve, reject) => {
    const call = request({ ...options, ...shown }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    call.on('error', reject).end();
  });
}

describe('the admin API speaks TLS', () => {
  it('to those who show a certificate, where an authority is named, and needs their token too', async () => {
    const [dir, other] = [makeFolder(), makeFolder()];
    const [ours, theirs] = [makeCertificate(dir), makeCertificate(other)];
    const { port } = await startFrom(dir, { tls: { cert: 'cert.pem', key: 'key.pem', ca: 'cert.pem' } });
    expect(await look(port, ours.cert, { cert: ours.cert, key: ours.key })).toBe(200);
    expect(await look(port, ours.cert)).toBe(403);
    expect(await look(port, ours.cert, { cert: theirs.cert, key: theirs.key })).toBe(403);
    await expect(look(port, theirs.cert)).rejects.toThrow();
    await expect(fetch(`http://127.0.0.1:${port}/admin/policies`)).rejects.toThrow();
  });

  it('with a renewed certificate, and with the old one while the new cannot be used', async () => {
    const [dir, next] = [makeFolder(), makeFolder()];
    const [first, second] = [makeCertificate(dir), makeCertificate(next)];
    const { port, lines } = await startFrom(dir, { tls: { cert: 'cert.pem', key: 'key.pem' } });
    expect(await look(port, first.cert)).toBe(200);
    copyFileSync(join(next, 'cert.pem'), join(dir, 'cert.pem'));
    await until(() => lines.some((line) => line.includes('certificate of the admin API not renewed')));
    expect(await look(port, first.cert)).toBe(200);
    copyFileSync(join(next, 'key.pem'), join(dir, 'key.pem'));
    await until(() => lines.some((line) => line.includes('certificate of the admin API renewed')));
    expect(await look(port, second.cert)).toBe(200);
    await expect(look(port, first.cert)).rejects.toThrow();
  });
});

it('an expectation that nobody meets is a problem like any other', async () => {
  const { port } = await startFrom(makeFolder(), {});
  const { status, headers, json } = await ask(port, '/admin/policies', { headers: { expect: 'wonders' } });
  expect([status, headers['content-type'], json?.status]).toEqual([417, 'application/problem+json', 417]);
});

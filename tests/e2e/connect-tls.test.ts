import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLimiter, type Decision, type Store, tokenBucket } from 'comporta';
import { type RedisStoreOptions, redisStore, selfTest } from 'comporta/redis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Certificate, makeCertificate } from '../support/certificate.js';
import { startCluster } from '../support/cluster.js';
import { freePort } from '../support/ports.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { runCommand } from './cli-support.js';

let dir: string;
let certificate: Certificate;
const stores: Store[] = [];

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'comporta-tls-'));
  certificate = makeCertificate(dir);
});
afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function open(url: string, tls?: RedisStoreOptions['tls']): Store {
  const store = redisStore(url, tls === undefined ? {} : { tls });
  stores.push(store);
  return store;
}

function decide(store: Store): Promise<Decision> {
  const limits = tokenBucket({ capacity: 1_000_000, refill: 1, every: '1s' });
  const limiter = createLimiter({ policy: 'tls', limits, store, onStoreFailure: 'closed' });
  return until(async () => {
    const decision = await limiter.consume('a');
    return decision.degraded === undefined && decision;
  });
}

const faultsOf = async (store: Store) =>
  (await selfTest(store)).filter(({ level }) => level === 'error').map(({ message }) => message);

describe.each(installedKinds())('TLS to %s', (kind) => {
  let server: Server;
  let strict: Server;
  let url: string;
  let strictUrl: string;
  beforeAll(async () => {
    const [port, strictPort] = [await freePort(), await freePort()];
    server = await startServer({ kind, args: certificate.serverArgs(port) });
    strict = await startServer({ kind, args: certificate.serverArgs(strictPort, 'yes') });
    [url, strictUrl] = [`rediss://127.0.0.1:${port}`, `rediss://127.0.0.1:${strictPort}`];
  });
  afterAll(() => Promise.all([server?.stop(), strict?.stop()]));

  test('a certificate of our own is trusted by `ca`, and its name checked by `servername`', async () => {
    const tls = { ca: certificate.cert, servername: certificate.name };
    expect(await decide(open(url, tls))).toMatchObject({ allowed: true });
  });

  test('a certificate that nobody vouches for, or for another name, is refused and the reason said', async () => {
    expect(await faultsOf(open(url))).toEqual([expect.stringContaining('self-signed certificate')]);
    const wrongName = open(url, { ca: certificate.cert, servername: 'other.test' });
    expect(await faultsOf(wrongName)).toEqual([expect.stringMatching(/altnames/)]);
  });

  test('it can be told to take any certificate', async () => {
    expect(await decide(open(url, { rejectUnauthorized: false }))).toMatchObject({ allowed: true });
  });

  test('a server that asks for a certificate gets ours, and hangs up without', async () => {
    const { cert, key, name } = certificate;
    const tls = { ca: cert, servername: name };
    expect(await decide(open(strictUrl, { ...tls, cert, key }))).toMatchObject({ allowed: true });
    expect(await faultsOf(open(strictUrl, tls))).toHaveLength(1);
  });

  test('the doctor trusts what NODE_EXTRA_CA_CERTS names, and says what to do without it', async () => {
    const { certFile } = certificate;
    const distrusting = runCommand(['doctor', url]);
    expect(await distrusting.exit()).toBe(1);
    expect(distrusting.output()).toMatch(/self-signed certificate\n.*NODE_EXTRA_CA_CERTS/);
    const trusting = runCommand(['doctor', url], { NODE_EXTRA_CA_CERTS: certFile });
    expect(await trusting.exit()).toBe(1);
    // Trusted by now; the name is still another one than the address.
    expect(trusting.output()).toMatch(/altnames/);
  });

  test('plain words to a port with TLS: the doctor says to write rediss', async () => {
    const command = runCommand(['doctor', url.replace('rediss', 'redis')]);
    expect(await command.exit()).toBe(1);
    expect(command.output()).toContain('write rediss://');
  });

  test('a cluster over TLS', async () => {
    const port = await freePort();
    const args = [...certificate.serverArgs(port), '--tls-cluster', 'yes'];
    await using _ = await startCluster({ kind, primaries: 1, replicas: 0, args });
    const store = open(`rediss-cluster://127.0.0.1:${port}`, { ca: certificate.cert, servername: certificate.name });
    expect(await decide(store)).toMatchObject({ allowed: true });
  });
});

test.each([
  ['redis://h:1', { tls: {} }, /tls: needs a rediss:/],
  ['redis://h:1', { natMap: {} }, /natMap: needs a cluster/],
  ['redis-cluster://h:1', { sentinel: {} }, /sentinel: needs a redis-sentinel:/],
] as const)('%s refuses %o', (url, options, message) => {
  expect(() => redisStore(url, options)).toThrow(message);
});

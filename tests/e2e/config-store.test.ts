import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../packages/server/src/config/load.js';
import { formatProblem } from '../../packages/server/src/config/problem.js';
import { type Certificate, makeCertificate } from '../support/certificate.js';
import { freePort } from '../support/ports.js';
import { startProxy } from '../support/proxy.js';
import { startSentinels } from '../support/sentinels.js';
import { installedKinds, startServer } from '../support/servers.js';
import { makeFolder, runCommand } from './cli-support.js';

const GATEWAY = 'gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }\n';

function problemsOf(store: string, files: Readonly<Record<string, string>> = {}): string[] {
  const read = (name: string) => {
    if (files[name] !== undefined) return files[name];
    throw Object.assign(new Error('no file'), { code: 'ENOENT' });
  };
  const loaded = loadConfig(`${store}\n${GATEWAY}`, { PIN: '12345' }, read);
  return 'problems' in loaded ? loaded.problems.map((problem) => formatProblem('f', problem)) : [];
}

describe('the settings of the connection to the store', () => {
  let certificate: Certificate;
  let other: Certificate;
  beforeAll(() => {
    certificate = makeCertificate(makeFolder());
    other = makeCertificate(makeFolder());
  });

  test('an address alone and one with settings beside it are the same', () => {
    const configOf = (text: string) => loadConfig(`${text}\n${GATEWAY}`, {});
    const settings = { url: 'redis://h:1', options: {} };
    expect(configOf('store: redis://h:1')).toMatchObject({ config: { store: settings } });
    expect(configOf('store: { url: redis://h:1 }')).toMatchObject({ config: { store: settings } });
    expect(configOf('')).toMatchObject({ config: { store: { url: 'memory', options: {} } } });
  });

  test('files are read, and everything reaches the store', () => {
    const { cert, key } = certificate;
    const text = `store:
  url: rediss-sentinel://h:1/name
  tls: { ca: ca.pem, cert: my.pem, key: my.key, servername: redis.test }
  natMap: { "10.0.0.1:6379": "h:7001" }
  sentinel: { username: watcher, password: "0123" }
${GATEWAY}`;
    const files: Readonly<Record<string, string>> = { 'ca.pem': cert, 'my.pem': cert, 'my.key': key };
    expect(loadConfig(text, {}, (name) => files[name] ?? '')).toMatchObject({
      config: {
        store: {
          url: 'rediss-sentinel://h:1/name',
          options: {
            tls: { ca: cert, cert, key, servername: 'redis.test', rejectUnauthorized: true },
            natMap: { '10.0.0.1:6379': 'h:7001' },
            sentinel: { username: 'watcher', password: '0123' },
          },
        },
      },
    });
  });

  test.each([
    ['store: { url: nonsense }', /^f:1:\d+: store.url: expected memory, redis:/s],
    ['store: { tls: {} }', /^f:1:\d+: store.url: missing/s],
    ['store: { url: redis://h:1, tsl: {} }', /^f:1:\d+: store.tsl: unknown field.*did you mean "tls"/s],
    ['store: { url: rediss://h:1, tls: { cafile: a } }', /^f:1:\d+: store.tls.cafile: unknown field/s],
    ['store:\n  url: redis://h:1\n  tls: {}', /^f:3:\d+: store.tls: needs TLS.*rediss/s],
    ['store:\n  url: memory\n  tls: {}', /^f:3:\d+: store.tls: needs TLS/s],
    ['store:\n  url: redis://h:1\n  natMap: {}', /^f:3:\d+: store.natMap: needs a cluster.*redis-cluster/s],
    ['store:\n  url: redis://h:1\n  sentinel: {}', /^f:3:\d+: store.sentinel: needs Sentinels.*redis-sentinel/s],
    ['store: { url: redis-cluster://h:1, natMap: { "a:1": b } }', /^f:1:\d+: store.natMap.a:1: expected host:port/s],
    ['store: 5', /^f:1:8: store: expected text \(the value is not shown\)/s],
  ])('%j is refused with its place', (text, message) => {
    expect(problemsOf(text)).toEqual([expect.stringMatching(message)]);
  });

  test.each([
    ['ca: gone.pem', [/store.tls.ca: there is no file gone.pem.*relative to this file's folder/s]],
    ['ca: empty.pem', [/store.tls.ca: cannot be used: .*BEGIN CERTIFICATE/s]],
    ['cert: my.pem', [/store.tls.cert: needs key too/s]],
    ['key: my.key', [/store.tls.key: needs cert too/s]],
    ['cert: my.pem\n    key: other.key', [/store.tls.key: cannot be used: .*must be the key of the certificate/s]],
  ])('tls with %j', (tls, messages) => {
    const files = {
      'empty.pem': 'none',
      'my.pem': certificate.cert,
      'my.key': certificate.key,
      'other.key': other.key,
    };
    const problems = problemsOf(`store:\n  url: rediss://h:1\n  tls:\n    ${tls}`, files);
    expect(problems).toEqual(messages.map((message) => expect.stringMatching(message)));
  });

  test('a password that is read as a number is refused and not shown', () => {
    for (const value of ['12345', '$' + '{PIN}']) {
      const login = `  sentinel:\n    password: ${value}`;
      const [problem = '', ...more] = problemsOf(`store:\n  url: redis-sentinel://h:1/n\n${login}`);
      expect(more).toEqual([]);
      expect(problem).toMatch(/^f:4:\d+: store.sentinel.password: expected text; quote it/);
      expect(problem).not.toContain('12345');
    }
  });
});

describe.each(installedKinds().slice(0, 1))('a file with settings of the connection, on %s', (kind) => {
  const doctorOn = async (folder: string, store: string): Promise<string> => {
    const file = join(folder, 'comporta.yaml');
    writeFileSync(file, `store:\n${store}\n${GATEWAY}`);
    const command = runCommand(['doctor', '-c', file, '--timeout', '10s']);
    expect(await command.exit(), command.output()).toBe(0);
    return command.output();
  };

  test('a server that speaks TLS and asks for a certificate', async () => {
    const folder = makeFolder();
    const certificate = makeCertificate(folder);
    const port = await freePort();
    await using server = await startServer({ kind, args: certificate.serverArgs(port, 'yes') });
    const url = `  url: rediss://127.0.0.1:${port}`;
    const tls = `  tls: { ca: cert.pem, cert: cert.pem, key: ./key.pem, servername: ${certificate.name} }`;
    expect(await doctorOn(folder, `${url}\n${tls}`)).toMatch(/^ok {7}scripts/m);
    expect(server.running).toBe(true);
    const serving = runCommand(['serve', '-c', join(folder, 'comporta.yaml')]);
    const { gateway } = await serving.ports();
    expect((await fetch(`http://127.0.0.1:${gateway}/`)).status).toBe(200);
    serving.signal('SIGTERM');
    expect(await serving.exit(), serving.output()).toBe(0);
  });

  test('a cluster behind a NAT, and Sentinels with a login of their own', async () => {
    await using node = await startServer({ kind });
    const sentinels = await startSentinels(kind, node, 'primary', [
      'user w on >0123 -@all +sentinel|get-master-addr-by-name',
    ]);
    await using proxy = await startProxy(node);
    const nat = `  natMap: { "127.0.0.1:${node.port}": "127.0.0.1:${proxy.port}" }`;
    const url = `  url: redis-sentinel://127.0.0.1:${sentinels.ports[0]}/primary`;
    expect(await doctorOn(makeFolder(), `${url}\n${nat}\n  sentinel: { username: w, password: "0123" }`)).toMatch(
      /^ok {7}scripts/m,
    );
    expect(proxy.count('EVALSHA')).toBeGreaterThan(0);
    sentinels.stop();
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryStore } from 'comporta';
import { selfTest } from 'comporta/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/ports.js';
import { startProxy } from '../support/proxy.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { makeFolder, runCommand } from './cli-support.js';

interface Result {
  readonly code: number | null;
  readonly output: string;
}

async function doctor(...words: readonly string[]): Promise<Result> {
  const command = runCommand(['doctor', ...words]);
  return { code: await command.exit(), output: command.output() };
}

const GATEWAY = 'gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }\n';

function configFile(text: string): string {
  const file = join(makeFolder(), 'comporta.yaml');
  writeFileSync(file, `${text}${GATEWAY}`);
  return file;
}

describe.each(installedKinds())('comporta doctor on %s', (kind) => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ kind });
  });
  afterAll(() => server?.stop());

  test('a sound server: one aligned line per check, exit code 0, nothing left behind', async () => {
    const { code, output } = await doctor(server.url, '--timeout', '10s');
    expect(code, output).toBe(0);
    for (const check of ['server', 'mode', 'eviction', 'disk', 'rights', 'scripts', 'speed', 'clock']) {
      expect(output).toMatch(new RegExp(`^ok {7}${check.padEnd(11)} \\S`, 'm'));
    }
    expect(output).toMatch(new RegExp(`server      ${kind} \\d`, 'i'));
    expect(output).toContain('0 errors, 0 warnings');
    expect(await server.command('KEYS', '*self-test*')).toEqual([]);
  });

  test('both ways to run a script are tried without emptying the cache', async () => {
    const sha = String(await server.command('SCRIPT', 'LOAD', 'return 1'));
    await server.command('CONFIG', 'RESETSTAT');
    expect((await doctor(server.url)).code).toBe(0);
    expect(await server.command('SCRIPT', 'EXISTS', sha)).toEqual([1]);
    const stats = String(await server.command('INFO', 'commandstats'));
    expect(stats).toMatch(/cmdstat_eval:/);
    expect(stats).toMatch(/cmdstat_evalsha:.*failed_calls=[1-9]/);
    expect(stats).not.toMatch(/script\|flush/);
  });

  test('eviction that resets limits is a warning with a fix', async () => {
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    const { code, output } = await doctor(server.url);
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    expect(code).toBe(0);
    expect(output).toMatch(/^warning {2}eviction .*allkeys-lru.*\n {21}fix: CONFIG SET maxmemory-policy noeviction/m);
  });

  test('a full server and one that refuses to write are errors', async () => {
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    const full = await doctor(server.url);
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    expect(full.output).toMatch(/^ERROR {4}scripts .*OOM.*\n.*fix: the server is full/m);
    await server.command('CONFIG', 'SET', 'min-replicas-to-write', '1');
    const alone = await doctor(server.url);
    await server.command('CONFIG', 'SET', 'min-replicas-to-write', '0');
    expect([full.code, alone.code]).toEqual([1, 1]);
    expect(alone.output).toMatch(/^ERROR {4}scripts .*NOREPLICAS/m);
  });

  test('a replica is no place for decisions', async () => {
    await using replica = await startServer({ kind, args: ['--replicaof', '127.0.0.1', String(server.port)] });
    const { code, output } = await doctor(replica.url);
    expect(code).toBe(1);
    expect(output).toMatch(/^ERROR {4}mode .*replica/m);
    expect(output).toContain('1 error, 0 warnings');
  });

  test('a slow way to the server is judged by the time limit', async () => {
    await using proxy = await startProxy(server);
    proxy.delay(25);
    expect((await doctor(proxy.url, '--timeout', '5ms')).output).toMatch(/^ERROR {4}speed .*5 ms.*\n.*move closer/m);
    expect((await doctor(proxy.url, '--timeout', '90ms')).output).toMatch(/^warning {2}speed /m);
    expect((await doctor(proxy.url, '--timeout', '10s')).output).toMatch(/^ok {7}speed /m);
  });

  test('a frozen server is said to give no answer', async () => {
    await using frozen = await startServer({ kind });
    await using proxy = await startProxy(frozen);
    frozen.freeze();
    const { code, output } = await doctor(proxy.url);
    frozen.thaw();
    expect(code).toBe(1);
    expect(output).toMatch(/^ERROR {4}connection /m);
  });

  test('findings as JSON', async () => {
    const { code, output } = await doctor('-c', configFile(`store: ${server.url}\ntimeout: 77ms\n`), '--json');
    expect(code, output).toBe(0);
    const { findings } = JSON.parse(output) as { readonly findings: readonly Record<string, string>[] };
    expect(findings).toContainEqual({ level: 'ok', check: 'mode', message: 'single server, 0 replicas' });
    expect(findings.find(({ check }) => check === 'speed')?.message).toContain('the time limit is 77 ms');
  });

  test('a missing or wrong password, and a single server taken for a cluster', async () => {
    await using locked = await startServer({ kind, args: ['--requirepass', 'secret'] });
    expect((await doctor(locked.url)).output).toMatch(/NOAUTH.*\n.*fix: the server wants a password/);
    const wrong = await doctor(locked.url.replace('//', '//:wr0ng@'));
    expect(wrong.output).toMatch(/WRONGPASS.*\n.*fix: user or password is wrong/);
    expect(wrong.output).not.toContain('wr0ng');
    expect((await doctor(locked.url.replace('//', '//:secret@'))).code).toBe(0);
    const cluster = await doctor(server.url.replace('redis', 'redis-cluster'));
    expect(cluster.output).toMatch(/cluster support disabled.*\n.*write redis:\/\/ for redis-cluster/);
  });
});

test.each([
  ['redis://127.0.0.1:PORT', /ECONNREFUSED.*\n.*nothing listens there/],
  ['redis-cluster://127.0.0.1:PORT', /ECONNREFUSED.*\n.*nothing listens there/],
  ['redis-sentinel://127.0.0.1:PORT/name', /ECONNREFUSED.*\n.*nothing listens there/],
  ['redis://no-such-host.invalid:PORT', /(ENOTFOUND|EAI_AGAIN).*\n.*not known to DNS/],
])('%s without a server: why, within seconds', async (url, expected) => {
  const startMs = performance.now();
  const { code, output } = await doctor(url.replace('PORT', String(await freePort())));
  expect(code).toBe(1);
  expect(output).toMatch(expected);
  expect(performance.now() - startMs).toBeLessThan(6000);
});

test('a memory store has nothing to test', async () => {
  const { code, output } = await doctor('-c', configFile('store: memory\n'));
  expect(code, output).toBe(0);
  expect(output).toContain('nothing to connect to');
  await expect(selfTest(memoryStore())).rejects.toMatchObject({ code: 'ERR_OPTION' });
});

test.each([
  [[], /which store\?/],
  [['redis://a', '-c', 'b'], /which store\?/],
  [['redis://a', 'redis://b'], /Unexpected argument/],
  [['http://a'], /expected redis:/],
  [['redis://a', '--timeout', '5y'], /--timeout: expected a duration/],
  [['redis://a', '--jso'], /did you mean --json/],
])('%j is wrong use', async (words, message) => {
  const { code, output } = await doctor(...words);
  expect(code).toBe(2);
  expect(output).toMatch(message);
});

test('a faulty file is named with its line', async () => {
  const { code, output } = await doctor('-c', configFile('store: memory\nnonsense: 1\n'));
  expect(code).toBe(1);
  expect(output).toMatch(/comporta\.yaml:2:1: /);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OPERATE, READ, type RunningAdmin, startAdmin } from './admin-support.js';
import { makeFolder, root, runCommand } from './cli-support.js';
import { onCleanup, until } from './gateway-support.js';

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

async function comporta(words: readonly string[], token = OPERATE): Promise<Ended> {
  const command = runCommand(words, { COMPORTA_ADMIN_TOKEN: token });
  const code = await command.exit();
  return { code, output: command.output() };
}

const keys = ({ port }: RunningAdmin, action: string, more: readonly string[] = [], token = OPERATE): Promise<Ended> =>
  comporta(
    ['keys', action, '--policy', 'per-key', '--part', 'k1', '--url', `http://127.0.0.1:${port}`, ...more],
    token,
  );

test('each action of keys does at a running server what it says', async () => {
  const admin = await startAdmin();
  const json = async (action: string, ...more: string[]): Promise<object> => {
    const { code, output } = await keys(admin, action, [...more, '--json']);
    expect(code, output).toBe(0);
    return JSON.parse(output);
  };
  const consume = () => admin.consume(['k1']);
  await consume();
  expect(await json('inspect')).toMatchObject({ allowed: true, limits: [{ remaining: 9 }] });
  expect(await json('refund', '--amount', '1')).toMatchObject({ limits: [{ remaining: 10 }] });
  expect((await keys(admin, 'refund', ['--amount', '40'])).output).toMatch(/^given back {5}up to 40: never more/m);
  expect(await json('block', '--for', '1h')).toMatchObject({ blocked: true });
  expect(await consume()).toMatchObject({ reason: 'blocked' });
  expect(await json('unblock')).toMatchObject({ wasBlocked: true });
  expect(await json('override', '--for', '1d', '--plan', 'pro')).toMatchObject({ overridden: true });
  expect(await consume()).toMatchObject({ limits: [{ limit: 50 }] });
  const limits = '{"fixedWindow": {"limit": 1, "window": "1d"}}';
  expect(await json('override', '--for', '1d', '--limits', limits)).toMatchObject({ overridden: true });
  expect(await consume()).toMatchObject({ limits: [{ limit: 1 }] });
  expect(await json('remove-override')).toMatchObject({ wasOverridden: true });
  expect(await json('reset')).toMatchObject({ keysRemoved: expect.any(Number) });
  expect(await consume()).toMatchObject({ limits: [{ limit: 10, remaining: 9 }] });
});

test('keys prints a line for each fact, and the subject as it is written cannot steer a terminal', async () => {
  const admin = await startAdmin();
  const { code, output } = await keys(admin, 'inspect');
  expect(code).toBe(0);
  expect(output).toMatch(/^subject +header\.x-api-key=k1$/m);
  expect(output).toMatch(/^blocked +none$/m);
  expect(output).toMatch(/^limits +id tokenBucket, limit 10, .*remaining 10/m);
  await admin.consume(['\u001b[2Jx']);
  const top = await comporta(['top', '--url', `http://127.0.0.1:${admin.port}`]);
  expect(top.output).toContain('x');
  expect(top.output).not.toContain('\u001b');
});

test('what the server refuses is told in its words, with exit code 1', async () => {
  const admin = await startAdmin();
  const url = ['--url', `http://127.0.0.1:${admin.port}`];
  const reset = (more: readonly string[], token?: string) =>
    comporta(['keys', 'reset', ...url, '--subject', 's', ...more], token);
  expect(await reset(['--policy', 'per-kye'])).toMatchObject({ code: 1, output: expect.stringContaining('"per-key"') });
  expect(await reset(['--policy', 'per-key'], READ)).toMatchObject({
    code: 1,
    output: expect.stringContaining('operate'),
  });
  const wrong = 'a-token-that-nobody-takes';
  const unknown = await reset(['--policy', 'per-key'], wrong);
  expect(unknown).toMatchObject({ code: 1, output: expect.stringContaining('401') });
  expect(unknown.output).not.toContain(wrong);
  const block = await comporta(['keys', 'block', ...url, '--policy', 'plain', '--subject', 's', '--for', '1h']);
  expect(block).toMatchObject({ code: 1, output: expect.stringContaining('blocks: true') });
});

test('a server that is not there or another is told, and no token goes to a second address', async () => {
  expect(
    await comporta(['keys', 'reset', '--policy', 'p', '--subject', 's', '--url', 'http://127.0.0.1:1']),
  ).toMatchObject({
    code: 1,
    output: expect.stringContaining('cannot reach http://127.0.0.1:1'),
  });
  const seen: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    seen.push(request.headers.authorization);
    if (request.url?.startsWith('/admin/top') === true) return void response.end('<html>');
    response.writeHead(307, { location: '/stolen' }).end();
  });
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  onCleanup(() => other.close());
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const moved = await comporta(['keys', 'reset', '--policy', 'p', '--subject', 's', '--url', url]);
  expect(moved).toMatchObject({ code: 1, output: expect.stringContaining('cannot reach') });
  expect(seen.length).toBe(1);
  expect(await comporta(['top', '--once', '--url', url])).toMatchObject({ code: 1 });
});

test('without a token nothing is asked, and a file may hold it', async () => {
  const admin = await startAdmin();
  expect(await keys(admin, 'inspect', [], '')).toMatchObject({
    code: 2,
    output: expect.stringContaining('COMPORTA_ADMIN_TOKEN'),
  });
  const file = join(makeFolder(), 'token');
  writeFileSync(file, `${READ}\n`);
  chmodSync(file, 0o600);
  expect((await keys(admin, 'inspect', ['--token-file', file], '')).code).toBe(0);
});

test('top prints once where the output is no terminal', async () => {
  const admin = await startAdmin();
  for (let i = 0; i < 12; i++) await admin.consume(['greedy']);
  const top = (...more: string[]) => comporta(['top', '--url', `http://127.0.0.1:${admin.port}`, ...more], READ);
  const { code, output } = await top();
  expect(code, output).toBe(0);
  expect(output).toMatch(/^12 requests in \d+ s/m);
  expect(output).toMatch(/^ +12 +\S+ +100 % +0 {2}per-key {2}header\.x-api-key=greedy$/m);
  expect((await top('--by', 'refusals')).output).toMatch(/^ +2 +\S+ +100 % +0 {2}per-key/m);
  expect(JSON.parse((await top('--json')).output)).toMatchObject({ total: 12, store: { status: 'pass' } });
  expect(await top('--policy', 'nobody')).toMatchObject({ code: 1, output: expect.stringContaining('404') });
});

test('top in a terminal is live, follows keys, and gives the terminal back at q', async () => {
  const admin = await startAdmin();
  const main = join(root, 'packages/server/dist/cli/main.js');
  const line = `${process.execPath} ${main} top --url http://127.0.0.1:${admin.port}`;
  const env = { ...process.env, COMPORTA_ADMIN_TOKEN: READ, TERM: 'xterm' };
  const child = spawn('script', ['-qefc', line, '/dev/null'], { env });
  onCleanup(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  const ended = once(child, 'close');
  await until('the first table', () => output.includes('0 requests'));
  await admin.consume(['late']);
  await until('a table with what came later', () => output.includes('header.x-api-key=late'));
  child.stdin.write('f');
  await until('the refusals', () => output.includes('0 refusals'));
  child.stdin.write('q');
  expect((await ended)[0]).toBe(0);
  expect(output).toContain('\u001b[?1049h');
  expect(output.trimEnd().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});

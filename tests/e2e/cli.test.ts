import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { makeFolder, root, runCommand } from './cli-support.js';
import { onCleanup, openSocket, startUpstream, until } from './gateway-support.js';

const quickstart = readFileSync(join(root, 'examples/quickstart/comporta.yaml'), 'utf8');

/** A file in a folder of its own, with free ports in place of the fixed ones. */
function writeConfig(text: string): string {
  const file = join(makeFolder(), 'comporta.yaml');
  writeFileSync(file, text.replaceAll(/127\.0\.0\.1:80\d\d\b/g, '127.0.0.1:0'));
  return file;
}

async function ask(
  port: number,
  path = '/',
): Promise<{ readonly status: number; readonly text: string; readonly headers: Record<string, unknown> }> {
  const { statusCode, headers, body } = await request(`http://127.0.0.1:${port}${path}`);
  return { status: statusCode, text: await body.text(), headers };
}

describe('comporta serve', () => {
  it('refuses the eleventh quick request of the quickstart, understandably', async () => {
    const command = runCommand(['serve', '-c', writeConfig(quickstart)]);
    const { gateway } = await command.ports();
    for (let i = 1; i <= 10; i++) expect((await ask(gateway)).status, `request ${i}`).toBe(200);
    const { status, text, headers } = await ask(gateway);
    expect(status).toBe(429);
    expect(headers).toMatchObject({
      'content-type': 'application/problem+json',
      'retry-after': '1',
      'cache-control': 'no-store',
    });
    expect(JSON.parse(text)).toMatchObject({
      status: 429,
      title: 'Quota exceeded',
      'violated-policies': ['per-client'],
    });
    await until('one more to pass', async () => (await ask(gateway)).status === 200);
  });

  it('says where it listens, what holds, and what to try', async () => {
    const command = runCommand(['serve', '-c', writeConfig(quickstart)]);
    const { gateway } = await command.ports();
    await command.says('Try it');
    expect(command.output()).toContain('store memory');
    expect(command.output()).toContain('policy per-client: counts ip; tokenBucket capacity 10, refill 1, every 1s');
    expect(command.output()).toContain(`curl -s -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:${gateway}/; done`);
    expect(command.output()).toContain(`curl -i http://127.0.0.1:${gateway}/`);
  });

  it('logs JSON when asked to', async () => {
    const command = runCommand(['serve', '-c', writeConfig(quickstart), '--log', 'json']);
    await command.says('policy per-client');
    for (const line of command.output().trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ level: 'info' });
  });

  it('says which address is taken, and fails', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onCleanup(() => taken.close());
    const { port } = taken.address() as { port: number };
    const file = join(makeFolder(), 'comporta.yaml');
    writeFileSync(file, `gateway: { listen: "127.0.0.1:${port}", routes: [{ path: /, upstream: echo }] }`);
    const command = runCommand(['serve', '-c', file]);
    expect(await command.exit()).toBe(1);
    expect(command.output()).toBe(
      `comporta: cannot listen on 127.0.0.1:${port} (gateway.listen): another program uses this port; stop it or choose another port\n`,
    );
  });

  it('refuses a bad file with its problems', async () => {
    const command = runCommand(['serve', '-c', writeConfig('polices: []\n')]);
    expect(await command.exit()).toBe(1);
    expect(command.output()).toMatch(/comporta\.yaml:1:1: polices: unknown field\n {2}hint: did you mean "policies"\?/);
  });

  it('answers health checks', async () => {
    const command = runCommand(['serve', '-c', writeConfig(quickstart)]);
    const { gateway, health } = await command.ports();
    expect(await ask(health, '/livez')).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(await ask(health, '/readyz')).toMatchObject({ status: 200, text: '{"status":"pass"}\n' });
    expect((await ask(health, '/else')).status).toBe(404);
    expect((await ask(gateway, '/livez')).text).toContain('"path": "/livez"');
  });
});

describe('comporta serve, told to stop,', () => {
  it('finishes what is in flight, takes nothing new, and ends by itself', async () => {
    let finish = (): void => undefined;
    const upstream = await startUpstream((incoming, response) => {
      if (incoming.url === '/fast') response.end();
      else finish = () => response.end('finished');
    });
    const file = writeConfig(
      `gateway: { listen: 127.0.0.1:8080, routes: [{ path: /, upstream: "${upstream.origin}" }] }\napi: { listen: 127.0.0.1:8081 }\n`,
    );
    const command = runCommand(['serve', '-c', file]);
    const { gateway, health } = await command.ports();
    const { socket } = await openSocket(gateway);
    socket.write('GET /fast HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
    const inFlight = ask(gateway, '/slow');
    await until('the request to arrive', () => upstream.requests.length === 2);
    command.signal('SIGTERM');
    await command.says('stopping');
    expect(await ask(health, '/readyz')).toMatchObject({
      status: 503,
      text: '{"status":"fail","reason":"draining"}\n',
    });
    expect((await ask(health, '/livez')).status).toBe(200);
    await expect(openSocket(gateway)).rejects.toThrow('ECONNREFUSED');
    if (!socket.closed) await once(socket, 'close');
    finish();
    expect(await inFlight).toMatchObject({ status: 200, text: 'finished', headers: { connection: 'close' } });
    expect(await command.exit()).toBe(0);
    expect(command.output()).toContain('stopped');
  });

  it('cuts what is still in flight after the drain time', async () => {
    const upstream = await startUpstream(() => undefined);
    const file = writeConfig(
      `gateway: { listen: 127.0.0.1:8080, drainTime: 200ms, routes: [{ path: /, upstream: "${upstream.origin}" }] }\n`,
    );
    const command = runCommand(['serve', '-c', file]);
    const { gateway } = await command.ports();
    const inFlight = ask(gateway);
    const outcome = expect(inFlight).rejects.toThrow();
    await until('the request to arrive', () => upstream.requests.length === 1);
    command.signal('SIGINT');
    await outcome;
    expect(await command.exit()).toBe(0);
  });

  it('ends at once on a second signal', async () => {
    const upstream = await startUpstream(() => undefined);
    const file = writeConfig(
      `gateway: { listen: 127.0.0.1:8080, drainTime: 1h, routes: [{ path: /, upstream: "${upstream.origin}" }] }\n`,
    );
    const command = runCommand(['serve', '-c', file]);
    const { gateway } = await command.ports();
    const outcome = expect(ask(gateway)).rejects.toThrow();
    await until('the request to arrive', () => upstream.requests.length === 1);
    command.signal('SIGTERM');
    await command.says('stopping');
    command.signal('SIGTERM');
    expect(await command.exit()).toBe(1);
    await outcome;
  });
});

describe('comporta', () => {
  const run = async (...words: string[]) => {
    const command = runCommand(words);
    return { code: await command.exit(), output: command.output() };
  };

  it('check says that a file is good, and what it holds', async () => {
    const file = writeConfig(quickstart);
    expect(await run('check', '-c', file)).toEqual({
      code: 0,
      output: expect.stringMatching(/comporta\.yaml: ok\n {2}policy per-client/),
    });
  });

  it('check prints each problem with its place, and fails', async () => {
    const { code, output } = await run('check', '-c', writeConfig('store: memory\ntimeuot: 1s\ngateway: {}\n'));
    expect(code).toBe(1);
    expect(output).toMatch(/comporta\.yaml:2:1: timeuot: unknown field\n {2}hint: did you mean "timeout"\?\n/);
    expect(output).toMatch(/comporta\.yaml:3:1: gateway\.listen: missing\n/);
    expect(output).toMatch(/3 problems\n$/);
  });

  it('check says that there is no such file', async () => {
    expect(await run('check', '-c', '/nowhere.yaml')).toMatchObject({
      code: 1,
      output: expect.stringContaining('/nowhere.yaml:1:1: there is no such file'),
    });
  });

  it.each([
    [['srve'], 'did you mean "comporta serve"?'],
    [['check'], 'comporta check -c comporta.yaml'],
    [['check', '--confg', 'x'], 'did you mean --config?'],
    [['check', 'x.yaml'], 'check:'],
    [['serve', '-c', 'x', '--log', 'xml'], 'text or json'],
    [['--nope'], 'no option "--nope"'],
  ])('%j is wrong use', async (words, message) => {
    const { code, output } = await run(...words);
    expect(code).toBe(2);
    expect(output).toContain(message);
    expect(output).toMatch(/Try: comporta (\w+ )?--help/);
  });

  it('prints its version, its help, and the help of each command', async () => {
    expect(await run('--version')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^comporta \d+\.\d+\.\d+\n$/),
    });
    expect(await run('--help')).toMatchObject({ code: 0, output: expect.stringContaining('serve') });
    for (const name of ['serve', 'check', 'schema']) {
      expect(await run(name, '--help')).toMatchObject({ code: 0, output: expect.stringContaining(`comporta ${name}`) });
    }
  });

  it('schema prints the committed JSON Schema', async () => {
    const committed = readFileSync(join(root, 'packages/server/schema/comporta.schema.json'), 'utf8');
    const { code, output } = await run('schema');
    expect(code).toBe(0);
    expect(JSON.parse(output)).toEqual(JSON.parse(committed));
  });
});

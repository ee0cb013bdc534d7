import { existsSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { installedKinds, type Server, startServer } from './servers.js';

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function started(...args: Parameters<typeof startServer>): Promise<Server> {
  const server = await startServer(...args);
  servers.push(server);
  return server;
}

describe.each(installedKinds())('%s', (kind) => {
  test('a started server answers, and replies of every kind are understood', async () => {
    const server = await started({ kind });
    expect(await server.command('PING')).toBe('PONG');
    expect(await server.command('SET', 'k', 'naïve')).toBe('OK');
    expect(await server.command('GET', 'k')).toBe('naïve');
    expect(await server.buffers('GET', 'k')).toEqual(Buffer.from('naïve'));
    expect(await server.command('GET', 'none')).toBeNull();
    expect(await server.command('EVAL', 'return {1,{"a",false},{err="ODD one"}}', 0)).toMatchObject([
      1,
      ['a', null],
      { code: 'ODD' },
    ]);
    await expect(server.command('NOPE')).rejects.toMatchObject({ code: 'ERR' });
  });

  test('replies keep the order of many commands in flight', async () => {
    const server = await started({ kind });
    const texts = Array.from({ length: 500 }, (_, i) => `${i}`.padStart(i, '.'));
    expect(await Promise.all(texts.map((text) => server.command('ECHO', text)))).toEqual(texts);
  });

  test('a restarted server is empty and has the same port', async () => {
    const server = await started({ kind });
    await server.command('SET', 'k', 1);
    const before = server.pid;
    await server.restart();
    expect(server.pid).not.toBe(before);
    expect(await server.command('GET', 'k')).toBeNull();
  });

  test('a frozen server answers only after it is thawed', async () => {
    const server = await started({ kind });
    server.freeze();
    let answered = false;
    const ping = server.command('PING').then(() => {
      answered = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(answered).toBe(false);
    server.thaw();
    await ping;
  });

  test('a stopped server leaves neither process nor folder, frozen or not', async () => {
    const server = await started({ kind });
    const { pid, dir } = server;
    server.freeze();
    await server.stop();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(existsSync(dir)).toBe(false);
    await expect(server.command('PING')).rejects.toThrow('ECONNREFUSED');
  });

  test('a server that cannot start says why', async () => {
    await expect(startServer({ kind, args: ['--maxmemory', 'lots'] })).rejects.toThrow(/did not start[\s\S]*maxmemory/);
  });
});

import { request } from 'undici';
import { expect, it } from 'vitest';
import { startServer } from '../support/servers.js';
import { gatewayFile, onCleanup, policyOf, startGateway, until } from './gateway-support.js';

const USER = ['reset', 'on', '>a-secret', '~cmp1:*', '+@all'];

const spoilers: readonly (readonly [string, readonly string[], readonly string[], RegExp])[] = [
  ['full', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0'], /memory/],
  ['read-only', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE'], /read|replica/i],
  [
    'without the right to run scripts',
    ['ACL', 'SETUSER', 'comporta', '-eval', '-evalsha'],
    ['ACL', 'SETUSER', 'comporta', '+eval', '+evalsha'],
    /evalsha|permission|rights/i,
  ],
];

it.each(spoilers)(
  'a store that is %s is no store: readiness says what decisions meet',
  async (_, spoil, mend, reason) => {
    const server = await startServer();
    onCleanup(() => server.stop());
    await server.command('ACL', 'SETUSER', 'comporta', ...USER);
    const file = gatewayFile(
      'echo',
      {},
      {
        store: `redis://comporta:a-secret@127.0.0.1:${server.port}`,
        api: { listen: '127.0.0.1:0' },
        policies: [policyOf(100, { onStoreFailure: 'closed' })],
      },
    );
    const gateway = await startGateway(file);
    const decision = async (): Promise<number> => {
      const { statusCode, body } = await request(gateway.origin);
      await body.dump();
      return statusCode;
    };
    const ready = async (): Promise<readonly [number, string]> => {
      const { statusCode, body } = await request(`http://127.0.0.1:${gateway.app.api?.port}/readyz`);
      return [statusCode, await body.text()];
    };
    await until('a connection', async () => (await decision()) === 200);
    expect((await ready())[0]).toBe(200);
    await server.command(...spoil);
    expect(await decision()).toBe(503);
    await until('readiness to fail', async () => (await ready())[0] === 503);
    expect((await ready())[1]).toMatch(reason);
    await server.command(...mend);
    await until('readiness', async () => (await ready())[0] === 200);
    expect(await decision()).toBe(200);
  },
);

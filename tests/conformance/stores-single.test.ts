import { memoryStore } from 'comporta';
import { storeSuite } from 'comporta/testing';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { clients } from './clients.js';
import { describeRedisStore } from './stores.js';

describe('memory', () => {
  const store = memoryStore();
  test.each(storeSuite)('$name', ({ run }) => run(store));
});

describe.each(installedKinds())('one %s server', (kind) => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ kind });
  });
  afterAll(() => server?.stop());
  for (const client of clients)
    describeRedisStore(
      client.name,
      () => client.single(server.port),
      () => [server],
    );
});

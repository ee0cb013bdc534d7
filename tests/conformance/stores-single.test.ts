import { memoryStore } from 'comporta';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { clients } from './clients.js';
import { subjectCases } from './hostile-subjects.js';
import { storeCases } from './store-suite.js';
import { describeRedisStore } from './stores.js';

describe('memory', () => {
  const store = memoryStore();
  for (const one of [...storeCases, ...subjectCases]) test(one.name, () => one.run(store));
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

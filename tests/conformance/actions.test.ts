import { redisStore } from 'comporta/redis';
import { storeSuite } from 'comporta/testing';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { startCluster } from '../support/cluster.js';
import { installedKinds, startServer } from '../support/servers.js';

const actions = storeSuite.filter(({ part }) => part === 'actions');

describe.each(installedKinds())('%s', (kind) => {
  describe.each(['one server', 'a cluster'])('%s', (form) => {
    let stop: () => Promise<unknown>;
    let store: ReturnType<typeof redisStore>;
    beforeAll(async () => {
      const running = form === 'a cluster' ? await startCluster({ kind, replicas: 0 }) : await startServer({ kind });
      store = redisStore(running.url);
      stop = () => running.stop();
      await store.ready(5000);
    });
    afterAll(async () => {
      await store.close();
      await stop();
    });
    test.each(actions)('$name', ({ run }) => run(store));
  });
});

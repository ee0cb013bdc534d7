import { type Store, slidingWindow } from 'comporta';
import { storeSuite } from 'comporta/testing';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { limiterOn } from '../../packages/comporta/src/testing/store-limiters.js';
import type { Server } from '../support/servers.js';
import { until } from '../support/wait.js';
import type { Opened } from './clients.js';
import { redisCases } from './redis-suite.js';

/** Actions differ between servers, not between clients: `actions.test.ts` runs them. */
const ofEveryClient = storeSuite.filter(({ part }) => part !== 'actions');

/** Runs everything that a store on Redis must do on one client. */
export function describeRedisStore(
  name: string,
  open: () => Opened | Promise<Opened>,
  servers: () => readonly Server[],
): void {
  describe(name, () => {
    let opened: Opened;
    beforeAll(async () => {
      await Promise.all(servers().map((server) => server.command('FLUSHALL')));
      opened = await open();
      await until(() => opened.store.ping().then(() => true), { what: 'a connection' });
      await allNodesConnected(opened.store);
    });
    afterAll(() => opened?.close());
    test.each(ofEveryClient)('$name', ({ run }) => run(opened.store));
    for (const one of redisCases) test(one.name, () => one.run(opened.store, servers()));
  });
}

/** The first use of a node of a cluster may be the one that connects to it. */
async function allNodesConnected(store: Store): Promise<void> {
  const limiter = limiterOn(store, 'warm', slidingWindow({ limit: 1, window: '1s' }));
  for (let i = 0; i < 30; i++) {
    await until(async () => (await limiter.peek(`${i}`)).degraded === undefined, { what: 'a decision of the store' });
  }
}

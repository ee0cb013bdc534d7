import { createLimiter, slidingWindow } from 'comporta';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installedKinds, type Server } from '../support/servers.js';
import { slotOf } from '../support/slots.js';
import { until } from '../support/wait.js';
import { type ClientName, open } from './matrix/clients.js';
import { clusterGround } from './matrix/cluster-ground.js';
import type { Ground } from './matrix/ground.js';

let ground: Ground;
beforeAll(async () => {
  ground = await clusterGround(installedKinds()[0] ?? 'redis');
});
afterAll(() => ground?.close());

const subjectOfTarget = (): string => {
  const isOfTarget = (slot: number) => ground.slots.some(([from, to]) => from <= slot && slot <= to);
  for (let i = 0; ; i++) if (isOfTarget(slotOf(`s${i}`))) return `s${i}`;
};

test.each<ClientName>(['node-redis 6', 'node-redis 5'])(
  '%s: a promoted replica is found although the node that is asked for it swallows the question',
  async (client) => {
    await ground.prepare(true);
    const { store, end } = await open(client, ground.place);
    const limits = slidingWindow({ limit: 1000, window: '1h' });
    const limiter = createLimiter({ policy: 'p', limits, store, onStoreFailure: 'closed' });
    const subject = subjectOfTarget();
    const isDecided = async () => (await limiter.consume(subject)).degraded === undefined;
    await until(isDecided, { what: 'a decision of the store' });
    const asked = (await ground.primaries()).find((node) => node !== ground.target) as Server;
    const proxy = ground.proxyOf(asked);
    try {
      proxy.forget();
      proxy.blackhole();
      await ground.target.kill();
      const failing = setInterval(() => void limiter.consume(subject), 20);
      await ground.promoted().finally(() => clearInterval(failing));
      await until(isDecided, { timeoutMs: 5000, everyMs: 10, what: 'a decision of the promoted replica' });
      expect(proxy.seen).not.toEqual([]);
    } finally {
      await proxy.pass();
      await limiter.close();
      await store.close();
      await end();
    }
  },
);

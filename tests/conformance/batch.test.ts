import { createLimiter, fixedWindow, type Store, tokenBucket } from 'comporta';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callsOf } from '../cluster/stats.js';
import { type Cluster, startCluster } from '../support/cluster.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { type ClientKind, clients } from './clients.js';

const SUBJECTS = ['a', 'b', 'c'];
const EACH = 200;

const policyOf = (place: string, { name }: ClientKind): string => `${place}-${name.replaceAll(' ', '-')}`;

/** Asks for more than there is of three subjects at once; how many calls the servers were given. */
async function askAtOnce(store: Store, servers: readonly Server[], policy: string): Promise<number> {
  const limits = [fixedWindow({ limit: 150, window: '1h' }), tokenBucket({ capacity: 140, refill: 1, every: '1h' })];
  const limiter = createLimiter({ policy, limits, store, timeoutMs: 5000, onStoreFailure: 'closed' });
  for (const subject of [...SUBJECTS, 'warm']) {
    await until(async () => (await limiter.peek(subject)).degraded === undefined, { what: 'a decision of the store' });
  }
  // Every node learns both scripts.
  const warm = Array.from({ length: 400 }, (_, i) => `warm-${i % 40}`);
  await Promise.all(warm.map((subject) => limiter.consume(subject)));
  const before = await callsOf(servers, 'evalsha');
  const asked = SUBJECTS.map((subject) => Promise.all(Array.from({ length: EACH }, () => limiter.consume(subject))));
  for (const decisions of await Promise.all(asked)) {
    expect(decisions.map(({ allowed }) => allowed)).toEqual(decisions.map((_, i) => i < 140));
    expect(decisions.map(({ limits: [, bucket] }) => bucket?.remaining)).toEqual(
      decisions.map((_, i) => Math.max(0, 139 - i)),
    );
    expect(new Set(decisions.map(({ id }) => id)).size).toBe(EACH);
  }
  const calls = (await callsOf(servers, 'evalsha')) - before;
  await limiter.close();
  return calls;
}

describe.each(installedKinds())('%s', (kind) => {
  let server: Server;
  let cluster: Cluster;
  beforeAll(async () => {
    [server, cluster] = await Promise.all([startServer({ kind }), startCluster({ kind, replicas: 0 })]);
  });
  afterAll(() => Promise.all([server?.stop(), cluster?.stop()]));

  test.each(clients)('$name: six hundred decisions at once take a few calls, and each is right', async (client) => {
    const single = await client.single(server.port);
    expect(await askAtOnce(single.store, [server], policyOf('single', client))).toBeLessThanOrEqual(24);
    await single.close();
    const many = await client.cluster(cluster.primaries.map(({ port }) => port));
    // A node may have to learn the script, by a call that tells so.
    expect(await askAtOnce(many.store, cluster.primaries, policyOf('cluster', client))).toBeLessThanOrEqual(45);
    await many.close();
  });
});

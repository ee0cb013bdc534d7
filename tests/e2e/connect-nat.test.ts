import { createLimiter, type Limiter, type Store, tokenBucket } from 'comporta';
import { ioredisClusterPreset, nodeRedisPreset, redisStore, selfTest } from 'comporta/redis';
import { Cluster as IoredisCluster } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, slotOf, startCluster } from '../support/cluster.js';
import { freePort } from '../support/ports.js';
import { type FaultProxy, startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';

let cluster: Cluster;
let proxies: FaultProxy[];
/** From the address that nodes tell of themselves to the one of their proxy. */
let inside: [string, string][];

beforeAll(async () => {
  cluster = await startCluster({ replicas: 0 });
  proxies = await Promise.all(cluster.primaries.map((node) => startProxy(node)));
  // Ports that nobody listens on, as those behind a NAT are from outside.
  const told = await Promise.all(cluster.primaries.map(() => freePort()));
  for (const [i, node] of cluster.primaries.entries()) {
    await node.command('CONFIG', 'SET', 'cluster-announce-port', String(told[i]));
  }
  for (const node of cluster.primaries) await until(() => tells(node, told), { what: 'nodes that tell the new ports' });
  inside = told.map((port, i) => [`127.0.0.1:${port}`, `localhost:${proxies[i]?.port}`]);
});
afterAll(async () => {
  await Promise.all((proxies ?? []).map((proxy) => proxy.close()));
  await cluster?.stop();
});

const limiterOn = (store: Store) => {
  const limits = tokenBucket({ capacity: 1_000_000, refill: 1, every: '1s' });
  return createLimiter({ policy: 'nat', limits, store, timeoutMs: 2000, onStoreFailure: 'closed' });
};

const decides = (limiter: Limiter, subject: string) =>
  until(async () => (await limiter.consume(subject)).degraded === undefined, { what: `a decision for ${subject}` });

async function tells(node: Server, ports: readonly number[]): Promise<boolean> {
  const ranges = (await node.command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
  return ranges.every(([, , [, port]]) => ports.includes(port));
}

const subjects = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

const ways: readonly [string, () => { readonly store: Store; close(): Promise<void> }][] = [
  ['a URL with a table', () => byUrl(Object.fromEntries(inside))],
  ['a URL with a function', () => byUrl((address) => new Map(inside).get(address))],
  ['ioredis', byIoredis],
];

function byUrl(natMap: Record<string, string> | ((address: string) => string | undefined)) {
  const store = redisStore(`redis-cluster://127.0.0.1:${proxies[0]?.port}`, { natMap });
  return { store, close: () => store.close() };
}

function byIoredis() {
  const natMap = Object.fromEntries(
    inside.map(([from, to]) => [from, { host: 'localhost', port: Number(to.split(':')[1]) }]),
  );
  const client = new IoredisCluster([{ host: 'localhost', port: proxies[0]?.port ?? 0 }], {
    ...ioredisClusterPreset,
    natMap,
  });
  client.on('error', () => undefined);
  return { store: redisStore(client), close: async () => client.disconnect() };
}

test.each(ways)('a cluster behind a NAT by %s: every node is found, and a moved slot too', async (_, open) => {
  const { store, close } = open();
  const limiter = limiterOn(store);
  await Promise.all(subjects.map((subject) => decides(limiter, subject)));
  const from = await cluster.nodeForKey('{a}');
  await cluster.moveSlot(slotOf('{a}'), cluster.primaries.find((node) => node !== from) as Server);
  expect((await limiter.consume('a')).degraded).toBeUndefined();
  expect((await selfTest(store)).filter(({ level }) => level === 'error')).toEqual([]);
  await close();
});

test('clients from one preset keep their own address, also when they connect anew', async () => {
  const servers = [await startServer(), await startServer()];
  const made = servers.map(({ url }) => createClient({ url, ...nodeRedisPreset }).on('error', () => undefined));
  for (const client of made) await client.connect();
  for (const [i, server] of servers.entries()) {
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
    await until(async () => (await made[i]?.info('server'))?.includes(`tcp_port:${server.port}`), {
      what: `client ${i} at its server`,
    });
  }
  for (const client of made) client.destroy();
  for (const server of servers) await server.stop();
});

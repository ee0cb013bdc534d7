import { createLimiter, type Store, tokenBucket } from 'comporta';
import { type NodeRedisClusterLike, nodeRedisClusterPreset, redisStore } from 'comporta/redis';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { afterEach, describe, expect, test } from 'vitest';
import { type Box, startBox } from '../support/box.js';
import { type Cluster, slotOf, startCluster } from '../support/cluster.js';
import { selfView } from '../support/cluster-view.js';
import type { Server } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Place {
  readonly ports: readonly number[];
  readonly natMap: Readonly<Record<string, { readonly host: string; readonly port: number }>>;
}

/** The settings of a node's connection, for a client that has other ones than the preset. */
type NodeSocket = { readonly reconnectStrategy: false } | undefined;
type Lib = Pick<typeof redis6, 'createCluster'>;

const host = '127.0.0.1';

const byLib =
  (lib: Lib) =>
  async ({ ports, natMap }: Place, socket?: NodeSocket): Promise<Store> => {
    const { defaults } = nodeRedisClusterPreset;
    const client = lib.createCluster({
      ...nodeRedisClusterPreset,
      rootNodes: ports.map((port) => ({ url: `redis://${host}:${port}` })),
      nodeAddressMap: { ...natMap },
      defaults: { ...defaults, socket: { ...defaults.socket, ...socket } },
    });
    client.on('error', () => undefined);
    cleanups.push(() => client.destroy());
    await client.connect();
    return redisStore(client as unknown as NodeRedisClusterLike);
  };

const byUrl = async ({ ports, natMap }: Place): Promise<Store> => {
  const map = Object.fromEntries(Object.entries(natMap).map(([from, to]) => [from, `${to.host}:${to.port}`]));
  return redisStore(`redis-cluster://${ports.map((port) => `${host}:${port}`).join()}`, { natMap: map });
};

const v5 = redis5 as unknown as Lib;

async function startGround(): Promise<{ cluster: Cluster; place: Place; boxOf(node: Server): Box }> {
  const cluster = await startCluster({ nodeTimeoutMs: 1000 });
  cleanups.push(() => cluster.stop());
  const boxes = new Map<Server, Box>();
  for (const node of cluster.nodes) boxes.set(node, await startBox(node.port));
  cleanups.push(() => {
    for (const box of boxes.values()) box.close();
  });
  const boxOf = (node: Server) => boxes.get(node) as Box;
  const natMap = Object.fromEntries([...boxes].map(([node, { port }]) => [`${host}:${node.port}`, { host, port }]));
  return { cluster, place: { ports: cluster.primaries.map((node) => boxOf(node).port), natMap }, boxOf };
}

function deciderOn(store: Store, subject: string): () => Promise<boolean> {
  const limits = tokenBucket({ capacity: 1_000_000, refill: 1, every: '1s' });
  const limiter = createLimiter({ policy: 'unreachable', limits, store });
  cleanups.push(async () => {
    await limiter.close();
    await store.close();
  });
  return async () => (await limiter.consume(subject)).degraded === undefined;
}

// A client of node-redis takes a map for asked for until all nodes in it are connected to.
test('a primary out of reach does not keep a client from the failover of another', async () => {
  const { cluster, place, boxOf } = await startGround();
  const lost = await cluster.nodeForSlot(slotOf('{a}'));
  const other = cluster.primaries.find((node) => node !== lost) as Server;
  const [heir, promoted] = [cluster.partnerOf(other), cluster.partnerOf(lost)];
  const ways = { url: byUrl, 'node-redis 6': byLib(redis6), 'node-redis 5': byLib(v5) };
  const all = await Promise.all(
    Object.entries(ways).map(async ([name, open]) => ({ name, decides: deciderOn(await open(place), 'a') })),
  );
  for (const { name, decides } of all) await until(decides, { what: `${name}: a decision` });
  boxOf(heir).fate = 'swallow';
  await heir.command('CLUSTER', 'FAILOVER');
  const isPrimary = async (node: Server) => (await selfView(node)).role === 'primary';
  await until(() => isPrimary(heir), { what: 'the first failover' });
  await lost.kill();
  let promotedAtMs = 0;
  const noted = until(() => isPrimary(promoted), { what: 'the second failover', everyMs: 5 }).then(() => {
    promotedAtMs = performance.now();
  });
  const takenMs = await Promise.all(
    all.map(async ({ name, decides }) => {
      await until(async () => (await decides()) && promotedAtMs > 0, { everyMs: 5, what: `${name}: a decision again` });
      return performance.now() - promotedAtMs;
    }),
  );
  await noted;
  expect(boxOf(heir).taken).toBeGreaterThan(0);
  expect(Math.max(...takenMs)).toBeLessThan(3000);
});

describe.each([
  ['node-redis 6', byLib(redis6)],
  ['node-redis 5', byLib(v5)],
])('%s', (_, open) => {
  test('a node whose client has given up for good is connected to anew', async () => {
    const { cluster, place } = await startGround();
    const lost = await cluster.nodeForSlot(slotOf('{a}'));
    await cluster.partnerOf(lost).kill();
    const decides = deciderOn(await open(place, { reconnectStrategy: false }), 'a');
    await until(decides, { what: 'a decision' });
    await lost.kill();
    // Longer than a connection may take that is being made: none of these decisions may throw.
    for (const endMs = performance.now() + 3500; performance.now() < endMs; await sleep(10)) await decides();
    await lost.start();
    await until(decides, { timeoutMs: 5000, everyMs: 5, what: 'a decision again' });
  });
});

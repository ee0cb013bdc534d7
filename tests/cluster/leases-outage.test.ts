import { redisStore } from 'comporta/redis';
import { expect, test } from 'vitest';
import { startCluster } from '../support/cluster.js';
import { startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';
import { limiterOn, recordOf } from './leases.js';

const LEASE_MS = 1000;

const idsOn = async (server: Server, policy: string): Promise<string[]> =>
  [...(await recordOf(server, policy)).living.keys()].sort();

/** A store that can be cut off from its server, with two processes' limiters on it. */
async function behindProxy() {
  const server = await startServer();
  const proxy = await startProxy(server);
  const stores = [redisStore(proxy.url), redisStore(proxy.url)] as const;
  for (const store of stores) await store.ready(30_000);
  const stop = async () => {
    for (const store of stores) await store.close();
    await proxy.close();
    await server.stop();
  };
  return { server, proxy, stores, [Symbol.asyncDispose]: stop };
}

test('in mode closed held places outlive an outage, and nobody gets one meanwhile', async () => {
  await using parts = await behindProxy();
  const { server, proxy, stores } = parts;
  const limiter = limiterOn(stores[0], 'closed', 2, LEASE_MS, { timeoutMs: 200 });
  const other = limiterOn(stores[1], 'closed', 2, LEASE_MS, { timeoutMs: 200 });
  const lease = await limiter.acquire('hot');
  await proxy.down();
  await until(async () => (await idsOn(server, 'closed')).length === 0, { what: 'the end of the lease' });
  const refused = await other.acquire('hot');
  expect([refused.allowed, refused.decision.degraded?.mode]).toEqual([false, 'closed']);
  expect(lease.signal.aborted, 'nobody can have taken it, as far as is known').toBe(false);
  await proxy.pass();
  await until(async () => (await idsOn(server, 'closed')).length === 1, { what: 'a renewal' });
  expect(await idsOn(server, 'closed')).toEqual([lease.decision.id]);
  const last = await other.acquire('hot', { maxWaitMs: 10_000 });
  expect([last.allowed, last.decision.degraded, (await other.acquire('hot')).allowed]).toEqual([
    true,
    undefined,
    false,
  ]);
  await limiter.close();
  await other.close();
  expect(await idsOn(server, 'closed')).toEqual([]);
});

test('after an outage whoever finds no room is told, and never do more hold than the limit', async () => {
  await using parts = await behindProxy();
  const { server, proxy, stores } = parts;
  const limiter = limiterOn(stores[0], 'full', 1, LEASE_MS, { timeoutMs: 200 });
  const lease = await limiter.acquire('hot');
  await proxy.down();
  await until(async () => (await idsOn(server, 'full')).length === 0, { what: 'the end of the lease' });
  // A process that still reaches the server.
  const direct = redisStore(server.url);
  await direct.ready(30_000);
  const other = limiterOn(direct, 'full', 1, LEASE_MS);
  const taken = await other.acquire('hot');
  expect(taken.allowed).toBe(true);
  await proxy.pass();
  await until(() => lease.signal.aborted, { what: 'word of the loss' });
  expect([taken.allowed, taken.signal.aborted, await idsOn(server, 'full')]).toEqual([
    true,
    false,
    [taken.decision.id],
  ]);
  await limiter.close();
  await other.close();
  await direct.close();
});

test('a question whose answer is lost leaves no place behind', async () => {
  await using parts = await behindProxy();
  const { server, proxy, stores } = parts;
  const limiter = limiterOn(stores[0], 'unheard', 1, 60_000, { timeoutMs: 200 });
  // Both scripts are known to the server: one call each is all that it takes.
  await (await limiter.acquire('warm')).release();
  const taken = async () => {
    const stats = (await server.command('INFO', 'commandstats')) as string;
    return Number(/cmdstat_zadd:calls=(\d+)/.exec(stats)?.[1]);
  };
  const before = await taken();
  proxy.dropReplies();
  const { allowed, decision } = await limiter.acquire('hot');
  expect([allowed, decision.degraded?.cause]).toEqual([false, 'timeout']);
  expect(await taken(), 'it had got the place').toBe(before + 1);
  await until(async () => (await idsOn(server, 'unheard')).length === 0, { what: 'the place given back' });
  await proxy.pass();
  const again = await limiter.acquire('hot', { maxWaitMs: 30_000 });
  expect(again.allowed).toBe(true);
  await limiter.close();
});

test('in mode local a process gives its part of the places, and the store takes them over later', async () => {
  await using parts = await behindProxy();
  const { server, proxy, stores } = parts;
  const options = { onStoreFailure: 'local', timeoutMs: 200, instances: 2 } as const;
  const limiters = stores.map((store) => limiterOn(store, 'local', 4, LEASE_MS, options));
  await proxy.down();
  const asked = [];
  for (const limiter of limiters) for (let i = 0; i < 3; i++) asked.push(await limiter.acquire('hot'));
  expect(asked.map(({ allowed }) => allowed)).toEqual([true, true, false, true, true, false]);
  const held = asked.filter(({ allowed }) => allowed);
  expect(held.every(({ decision }) => decision.degraded?.mode === 'local')).toBe(true);
  await sleep(2 * LEASE_MS);
  expect((await limiters[0]?.acquire('hot'))?.allowed, 'renewed here').toBe(false);
  await proxy.pass();
  await until(async () => (await idsOn(server, 'local')).length === 4, { what: 'all four places in the store' });
  expect(await idsOn(server, 'local')).toEqual(held.map(({ decision }) => decision.id).toSorted());
  expect(held.some(({ signal }) => signal.aborted)).toBe(false);
  for (const lease of held) await lease.release();
  expect(await idsOn(server, 'local')).toEqual([]);
  for (const limiter of limiters) await limiter.close();
});

test('leases outlive a failover: the replica that takes over has them on record, and goes on counting', async () => {
  await using cluster = await startCluster({ nodeTimeoutMs: 1000 });
  const home = await cluster.nodeForKey('{hot}');
  const heir = cluster.partnerOf(home);
  const store = redisStore(cluster.url);
  await store.ready(30_000);
  const leaseMs = 20_000;
  const limiter = limiterOn(store, 'failover', 3, leaseMs, { timeoutMs: 200 });
  const leases = [await limiter.acquire('hot'), await limiter.acquire('hot')];
  const ids = leases.map(({ decision }) => decision.id).toSorted();
  // Replication is asynchronous: what it has not carried over yet is gone with the primary.
  await home.command('SET', '{hot}:written-last', '1');
  expect(Number(await home.command('WAIT', '1', '10000'))).toBe(1);
  await home.kill();
  expect(await cluster.nodeForKey('{hot}')).toBe(heir);
  const third = await until(
    async () => {
      const lease = await limiter.acquire('hot', { maxWaitMs: 10_000 });
      return lease.allowed && lease;
    },
    { timeoutMs: 30_000, what: 'the last place' },
  );
  expect(await idsOn(heir, 'failover')).toEqual([...ids, third.decision.id].toSorted());
  expect((await limiter.acquire('hot')).allowed, 'the places from before count').toBe(false);
  const endMs = Math.max(...(await recordOf(heir, 'failover')).living.values());
  await until(async () => Math.min(...(await recordOf(heir, 'failover')).living.values()) > endMs, {
    timeoutMs: 30_000,
    what: 'renewals on the new primary',
  });
  expect([...leases, third].some(({ signal }) => signal.aborted)).toBe(false);
  await limiter.close();
  expect(await idsOn(heir, 'failover')).toEqual([]);
  await store.close();
});

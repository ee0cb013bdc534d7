import { createLimiter, type Limiter, type Store, tokenBucket } from 'comporta';
import { type IoredisLike, ioredisPreset, parseStoreUrl, redisStore, selfTest } from 'comporta/redis';
import { Redis as Ioredis6 } from 'ioredis';
import { Redis as Ioredis5 } from 'ioredis5';
import { Redis as Iovalkey } from 'iovalkey';
import { afterEach, describe, expect, test } from 'vitest';
import { Connection } from '../support/connection.js';
import { startProxy } from '../support/proxy.js';
import { type Sentinels, startReplica, startSentinels } from '../support/sentinels.js';
import { installedKinds, type Server, type ServerKind, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const NAME = 'my-primary';

type SentinelAddresses = { readonly sentinels: { host: string; port: number }[]; readonly name: string };
const ioredisKinds: readonly (readonly [
  string,
  new (options: typeof ioredisPreset & SentinelAddresses) => IoredisLike,
])[] = [
  ['ioredis 6', Ioredis6],
  ['ioredis 5', Ioredis5],
  ['iovalkey', Iovalkey],
];

interface Setup {
  readonly primary: Server;
  readonly replica: Server;
  readonly sentinels: Sentinels;
}

async function setUp(kind: ServerKind, args: readonly string[] = [], more: readonly string[] = []): Promise<Setup> {
  const primary = await startServer({ kind, args });
  cleanups.push(() => primary.stop());
  if (args.includes('--requirepass')) await primary.command('AUTH', 'data');
  const replica = await startReplica(primary, args);
  cleanups.push(() => replica.stop());
  const sentinels = await startSentinels(kind, primary, NAME, more);
  cleanups.push(() => sentinels.stop());
  return { primary, replica, sentinels };
}

function storeOf({ ports }: Sentinels, login = '', options: Parameters<typeof redisStore>[1] = {}): Store {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  const store = redisStore(`redis-sentinel://${login}${hosts}/${NAME}`, options);
  cleanups.push(() => store.close());
  return store;
}

const limiterOn = (store: Store) => {
  const limits = tokenBucket({ capacity: 1_000_000, refill: 1, every: '1s' });
  return createLimiter({ policy: 'sentinel', limits, store, onStoreFailure: 'closed' });
};

/** Once at least: on a busy machine the first may not come in time. */
const decides = (limiter: Limiter) =>
  until(async () => (await limiter.consume('a')).degraded === undefined, { what: 'a decision of the store' });

const ready = (store: Store) => until(() => store.ping().then(() => true), { what: 'a connection' });

/** Takes the primary away; how long after the promotion, and after the loss, the store decides again. */
async function recoveryOf(limiter: Limiter, { primary, replica }: Setup, way: 'kill' | 'freeze') {
  const lostAtMs = performance.now();
  await primary[way]();
  expect((await limiter.consume('a')).degraded).toBeDefined();
  const isPromoted = async () => String(await replica.command('ROLE')).startsWith('master');
  const promotedAtMs = until(isPromoted, { timeoutMs: 30_000, everyMs: 5 }).then(() => performance.now());
  let slowestMs = 0;
  const recovers = async () => {
    const startMs = performance.now();
    const { degraded } = await limiter.consume('a');
    slowestMs = Math.max(slowestMs, performance.now() - startMs);
    return degraded === undefined;
  };
  await until(recovers, { timeoutMs: 30_000, everyMs: 5 });
  const recoveredAtMs = performance.now();
  if (way === 'freeze') primary.thaw();
  return {
    afterPromotionMs: Math.round(recoveredAtMs - (await promotedAtMs)),
    afterLossMs: Math.round(recoveredAtMs - lostAtMs),
    slowestMs,
  };
}

describe.each(installedKinds())('Sentinels of %s', (kind) => {
  test.each(['kill', 'freeze'] as const)('%s: the promoted replica decides at once', async (way) => {
    const setup = await setUp(kind);
    await setup.sentinels.settled();
    const store = storeOf(setup.sentinels);
    await ready(store);
    const limiter = limiterOn(store);
    await decides(limiter);
    const { afterPromotionMs, afterLossMs, slowestMs } = await recoveryOf(limiter, setup, way);
    console.log(
      `${kind}, ${way}: decisions ${afterPromotionMs} ms after the promotion, ${afterLossMs} ms after the loss`,
    );
    expect(afterPromotionMs).toBeLessThan(1000);
    expect(slowestMs).toBeLessThan(500);
    expect(Number(await setup.replica.command('DBSIZE'))).toBeGreaterThan(0);
  });

  test('without the right to list replicas a failover takes as long as the Sentinels do', async () => {
    const setup = await setUp(kind, [], [`user watcher on >watch -@all +sentinel|get-master-addr-by-name`]);
    await setup.sentinels.settled();
    const store = storeOf(setup.sentinels, '', { sentinel: { username: 'watcher', password: 'watch' } });
    await ready(store);
    const limiter = limiterOn(store);
    await decides(limiter);
    const { afterPromotionMs } = await recoveryOf(limiter, setup, 'kill');
    console.log(`${kind}, least rights: decisions ${afterPromotionMs} ms after the promotion`);
    expect(afterPromotionMs).toBeLessThan(2500);
  });

  test('users of servers and of Sentinels differ, the latter with one right; a wrong password is named', async () => {
    const args = ['--requirepass', 'data', '--masterauth', 'data'];
    const more = [`sentinel auth-pass ${NAME} data`, 'user watcher on >watch -@all +sentinel|get-master-addr-by-name'];
    const { sentinels } = await setUp(kind, args, more);
    const store = storeOf(sentinels, ':data@', { sentinel: { username: 'watcher', password: 'watch' } });
    await ready(store);
    await decides(limiterOn(store));
    const wrong = storeOf(sentinels, ':data@', { sentinel: { username: 'watcher', password: 'other' } });
    expect(await selfTest(wrong)).toMatchObject([{ level: 'error', message: expect.stringContaining('WRONGPASS') }]);
    const wrongData = storeOf(sentinels, ':other@', { sentinel: { username: 'watcher', password: 'watch' } });
    expect(await selfTest(wrongData)).toMatchObject([
      { level: 'error', message: expect.stringContaining('WRONGPASS') },
    ]);
  });

  test('an unknown name is said, and a NAT map leads elsewhere', async () => {
    const { primary, sentinels } = await setUp(kind);
    const proxy = await startProxy(primary);
    cleanups.push(() => proxy.close());
    const store = storeOf(sentinels, '', { natMap: { [`127.0.0.1:${primary.port}`]: `127.0.0.1:${proxy.port}` } });
    await ready(store);
    await decides(limiterOn(store));
    expect(proxy.count('EVALSHA')).toBeGreaterThan(0);
    const other = redisStore(`redis-sentinel://127.0.0.1:${sentinels.ports[0]}/other`);
    cleanups.push(() => other.close());
    expect(await selfTest(other)).toMatchObject([{ level: 'error', message: expect.stringContaining('"other"') }]);
  });
});

// They differ from each other, not from one kind of server to the other.
test.each(installedKinds().slice(0, 1))(
  'clients of ioredis that follow Sentinels of %s by themselves',
  async (kind) => {
    const setup = await setUp(kind);
    await setup.sentinels.settled();
    const sentinels = setup.sentinels.ports.map((port) => ({ host: '127.0.0.1', port }));
    const stores = ioredisKinds.map(([, Client]) => {
      const client = new Client({ ...ioredisPreset, sentinels, name: NAME });
      client.on('error', () => undefined);
      cleanups.push(() => client.disconnect());
      return redisStore(client);
    });
    for (const store of stores) await ready(store);
    const limiters = stores.map(limiterOn);
    for (const limiter of limiters) await decides(limiter);
    const taken = await Promise.all(limiters.map((limiter) => recoveryOf(limiter, setup, 'kill')));
    const afterMs = taken.map(({ afterPromotionMs }, i) => `${ioredisKinds[i]?.[0]} ${afterPromotionMs} ms`).join(', ');
    console.log(`${kind}: decisions after the promotion: ${afterMs}`);
    for (const { afterPromotionMs } of taken) expect(afterPromotionMs).toBeLessThan(4000);
    for (const store of stores) {
      const findings = await selfTest(store, { timeoutMs: 60_000 });
      expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
    }
  },
);

// A client that is told to begin anew while it asks the Sentinels ends for good.
test.each(ioredisKinds)('%s waits for frozen Sentinels for longer than a connection may take', async (_, Client) => {
  const [kind] = installedKinds();
  if (kind === undefined) throw new Error('no server is installed');
  const { sentinels } = await setUp(kind);
  sentinels.freeze();
  const hosts = sentinels.ports.map((port) => ({ host: '127.0.0.1', port }));
  const client = new Client({ ...ioredisPreset, sentinelCommandTimeout: 60_000, sentinels: hosts, name: NAME });
  client.on('error', () => undefined);
  cleanups.push(() => client.disconnect());
  const limiter = limiterOn(redisStore(client));
  const endMs = performance.now() + 3500;
  await until(async () => (await limiter.consume('a')).degraded !== undefined && performance.now() > endMs);
  sentinels.thaw();
  await decides(limiter);
});

// Sentinels take ten seconds to make a replica of it: one kind is enough.
test.each(installedKinds().slice(0, 1))('a primary of %s that comes back as a replica is not used', async (kind) => {
  const { primary, replica, sentinels } = await setUp(kind);
  await sentinels.settled();
  const store = storeOf(sentinels);
  await ready(store);
  const limiter = limiterOn(store);
  await decides(limiter);
  const [sentinel] = sentinels.ports;
  const connection = await Connection.open(Number(sentinel));
  cleanups.push(() => connection.close());
  await until(() => connection.command('SENTINEL', 'FAILOVER', NAME));
  await until(async () => String(await primary.command('ROLE')).startsWith('slave'), { timeoutMs: 30_000 });
  await decides(limiter);
  await until(async () => (await selfTest(store, { timeoutMs: 60_000 })).every(({ level }) => level === 'ok'));
  expect(String(await replica.command('ROLE'))).toMatch(/^master/);
});

test('the parts of a Sentinel URL', () => {
  expect(parseStoreUrl('rediss-sentinel://u:p%40@h:1,[::1]:2/name/3')).toMatchObject({
    kind: 'sentinel',
    urls: ['rediss://h:1', 'rediss://[::1]:2'],
    username: 'u',
    password: 'p@',
    isTls: true,
    primaryName: 'name',
    database: 3,
  });
  for (const bad of ['redis-sentinel://h:1', 'redis-sentinel://h:1/', 'redis-sentinel://h:1/a b', 'redis://h/name']) {
    expect(() => parseStoreUrl(bad)).toThrow(/store: expected/);
  }
});

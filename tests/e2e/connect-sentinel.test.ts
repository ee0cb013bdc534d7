import { createLimiter, type Store, tokenBucket } from 'comporta';
import { parseStoreUrl, redisStore, selfTest } from 'comporta/redis';
import { afterEach, describe, expect, test } from 'vitest';
import { Connection } from '../support/connection.js';
import { startProxy } from '../support/proxy.js';
import { type Sentinels, startSentinels } from '../support/sentinels.js';
import { installedKinds, type Server, type ServerKind, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const NAME = 'my-primary';

interface Setup {
  readonly primary: Server;
  readonly replica: Server;
  readonly sentinels: Sentinels;
}

async function setUp(kind: ServerKind, args: readonly string[] = [], more: readonly string[] = []): Promise<Setup> {
  const primary = await startServer({ kind, args });
  cleanups.push(() => primary.stop());
  const follow = ['--replicaof', '127.0.0.1', String(primary.port), '--repl-diskless-sync-delay', '0'];
  const replica = await startServer({ kind, args: [...args, ...follow] });
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

const ready = (store: Store) => until(() => store.ping().then(() => true), { what: 'a connection' });

describe.each(installedKinds())('Sentinels of %s', (kind) => {
  test('a failover: decisions come from the promoted replica soon after its promotion', async () => {
    const { primary, replica, sentinels } = await setUp(kind);
    await sentinels.settled();
    const store = storeOf(sentinels);
    await ready(store);
    const limiter = limiterOn(store);
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, degraded: undefined });
    const killedAtMs = performance.now();
    await primary.kill();
    expect((await limiter.consume('a')).degraded).toBeDefined();
    const isPromoted = async () => String(await replica.command('ROLE')).startsWith('master');
    const promotedAtMs = until(isPromoted, { timeoutMs: 30_000, everyMs: 5 }).then(() => performance.now());
    const slowestMs = { value: 0 };
    const recovers = async () => {
      const startMs = performance.now();
      const { degraded } = await limiter.consume('a');
      slowestMs.value = Math.max(slowestMs.value, performance.now() - startMs);
      return degraded === undefined;
    };
    await until(recovers, { timeoutMs: 30_000, everyMs: 5 });
    const recoveredAtMs = performance.now();
    const afterMs = Math.round(recoveredAtMs - (await promotedAtMs));
    console.log(
      `${kind}: decisions again ${afterMs} ms after the promotion, ${Math.round(recoveredAtMs - killedAtMs)} ms after the loss`,
    );
    expect(afterMs).toBeLessThan(2000);
    expect(slowestMs.value).toBeLessThan(500);
    expect(Number(await replica.command('DBSIZE'))).toBeGreaterThan(0);
  });

  test('users of servers and of Sentinels differ, the latter with one right; a wrong password is named', async () => {
    const args = ['--requirepass', 'data', '--masterauth', 'data'];
    const more = [`sentinel auth-pass ${NAME} data`, 'user watcher on >watch -@all +sentinel|get-master-addr-by-name'];
    const { sentinels } = await setUp(kind, args, more);
    const store = storeOf(sentinels, ':data@', { sentinel: { username: 'watcher', password: 'watch' } });
    await ready(store);
    expect(await limiterOn(store).consume('a')).toMatchObject({ allowed: true, degraded: undefined });
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
    expect(await limiterOn(store).consume('a')).toMatchObject({ allowed: true, degraded: undefined });
    expect(proxy.count('EVALSHA')).toBeGreaterThan(0);
    const other = redisStore(`redis-sentinel://127.0.0.1:${sentinels.ports[0]}/other`);
    cleanups.push(() => other.close());
    expect(await selfTest(other)).toMatchObject([{ level: 'error', message: expect.stringContaining('"other"') }]);
  });
});

// Sentinels take ten seconds to make a replica of it: one kind is enough.
test.each(installedKinds().slice(0, 1))('a primary of %s that comes back as a replica is not used', async (kind) => {
  const { primary, replica, sentinels } = await setUp(kind);
  await sentinels.settled();
  const store = storeOf(sentinels);
  await ready(store);
  const limiter = limiterOn(store);
  await until(async () => (await limiter.consume('a')).degraded === undefined);
  const [sentinel] = sentinels.ports;
  const connection = await Connection.open(Number(sentinel));
  cleanups.push(() => connection.close());
  await until(() => connection.command('SENTINEL', 'FAILOVER', NAME));
  await until(async () => String(await primary.command('ROLE')).startsWith('slave'), { timeoutMs: 30_000 });
  await until(async () => (await limiter.consume('a')).degraded === undefined);
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

import { createLimiter, fixedWindow, type Limiter, type Store } from 'comporta';
import { type GlideClusterLike, type GlideLike, glidePreset, redisStore } from 'comporta/redis';
import { expect, onTestFinished, test } from 'vitest';
import { loadClient } from '../clients/load.js';
import { slotOf, startCluster } from '../support/cluster.js';
import { type FaultProxy, startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';

// What GLIDE does by itself when a connection is lost, as it is seen on the wire: GLIDE has no setting for it.
interface Glide {
  readonly Logger: { setLoggerConfig(level: 'off'): void };
  readonly GlideClient: { createClient(options: object): Promise<GlideLike> };
  readonly GlideClusterClient: { createClient(options: object): Promise<GlideClusterLike> };
}

function glide(): Glide {
  const loaded = loadClient('@valkey/valkey-glide') as Glide;
  loaded.Logger.setLoggerConfig('off');
  return loaded;
}

function limiterOn(client: GlideLike | GlideClusterLike): Limiter {
  const store: Store = redisStore(client);
  const limits = fixedWindow({ limit: 1000, window: '1h' });
  const limiter = createLimiter({ policy: 'glide', limits, store, onStoreFailure: 'open' });
  onTestFinished(async () => {
    await limiter.close();
    client.close();
  });
  return limiter;
}

const decides = async (limiter: Limiter, subject: string) => (await limiter.consume(subject)).degraded === undefined;
const decided = (limiter: Limiter, subject: string) =>
  until(() => decides(limiter, subject), { what: 'a decision of the store', timeoutMs: 10_000 });

/** How often a call for the subject was written, whoever it was sent to. */
const sentFor = (proxies: readonly FaultProxy[], subject: string) =>
  proxies.flatMap(({ seen }) => seen).filter(({ args }) => args.some((arg) => arg.startsWith(`cmp1:{${subject}}:`)))
    .length;

const keysOf = async (server: Server, subject: string) =>
  (await server.command('KEYS', `cmp1:{${subject}}:glide:*`)) as string[];

async function countOf(server: Server, subject: string): Promise<number> {
  const [key = ''] = await keysOf(server, subject);
  return Number(await server.command('GET', key));
}

interface Ground {
  readonly limiter: Limiter;
  /** In front of the server of the subject `a`. */
  readonly proxy: FaultProxy;
  readonly server: Server;
  readonly proxies: readonly FaultProxy[];
}

async function singleGround(): Promise<Ground> {
  const server = await startServer();
  onTestFinished(() => server.stop());
  const proxy = await startProxy(server);
  onTestFinished(() => proxy.close());
  const addresses = [{ host: proxy.host, port: proxy.port }];
  const client = await glide().GlideClient.createClient({ addresses, ...glidePreset });
  return { limiter: limiterOn(client), proxy, server, proxies: [proxy] };
}

async function clusterGround(): Promise<Ground> {
  const cluster = await startCluster({ replicas: 0 });
  onTestFinished(() => cluster.stop());
  const proxies = new Map<number, FaultProxy>();
  for (const node of cluster.primaries) proxies.set(node.port, await startProxy(node));
  onTestFinished(() => Promise.all([...proxies.values()].map((proxy) => proxy.close())).then(() => undefined));
  const client = await glide().GlideClusterClient.createClient({
    addresses: cluster.primaries.map(({ host, port }) => ({ host, port })),
    ...glidePreset,
    addressResolver: (host: string, port: number) => [host, proxies.get(port)?.port ?? port],
  });
  const server = await cluster.nodeForSlot(slotOf('{a}'));
  const proxy = proxies.get(server.port) as FaultProxy;
  return { limiter: limiterOn(client), proxy, server, proxies: [...proxies.values()] };
}

const grounds = { 'a single server': singleGround, 'a cluster': clusterGround };

test.each(Object.entries(grounds))(
  'on %s a call whose answer is lost is sent once, and never later',
  async (_, open) => {
    const { limiter, proxy, server, proxies } = await open();
    await decided(limiter, 'a');
    const before = await countOf(server, 'a');
    for (const each of proxies) each.forget();
    proxy.dropReplies();
    const lost = limiter.consume('a');
    await until(() => sentFor(proxies, 'a') > 0, { everyMs: 1 });
    proxy.reset();
    await proxy.pass();
    expect((await lost).degraded).toMatchObject({ cause: 'unavailable' });
    await until(async () => (await limiter.peek('a')).degraded === undefined);
    expect(await countOf(server, 'a')).toBe(before + 1);
  },
);

test.each(Object.entries(grounds))(
  'on %s no call is sent after its decision while a server is away',
  async (_, open) => {
    const { limiter, proxy, server } = await open();
    await decided(limiter, 'a');
    await proxy.down();
    const before = await countOf(server, 'a');
    const tookMs: number[] = [];
    for (let i = 0; i < 20; i++) {
      const startMs = performance.now();
      expect(await decides(limiter, 'a')).toBe(false);
      tookMs.push(performance.now() - startMs);
    }
    // Later than the time limit of every call above.
    await new Promise((resolve) => setTimeout(resolve, 2 * glidePreset.requestTimeout));
    await proxy.pass();
    await until(async () => (await limiter.peek('a')).degraded === undefined);
    expect(await countOf(server, 'a')).toBe(before);
    expect(Math.max(...tookMs)).toBeLessThan(glidePreset.requestTimeout + 100);
  },
);

test.each(['down', 'blackhole'] as const)('a shard that is gone (%s) delays and degrades no other', async (way) => {
  const { limiter, proxy, server } = await clusterGround();
  const subjects = Array.from({ length: 40 }, (_, i) => `s${i}`);
  for (const subject of ['a', ...subjects]) await decided(limiter, subject);
  const there = await Promise.all(subjects.map(async (subject) => (await keysOf(server, subject)).length > 0));
  const others = subjects.filter((_, i) => !there[i]);
  expect(others.length).toBeGreaterThan(10);
  await proxy[way]();
  const degraded: string[] = [];
  let calls = 0;
  for (const endMs = performance.now() + 3000; performance.now() < endMs; ) {
    const struck = limiter.consume('a');
    for (const subject of others) {
      calls++;
      const decision = await limiter.consume(subject);
      if (decision.degraded)
        degraded.push(
          `${subject} ${Math.round(endMs - performance.now())} ms before the end: ${decision.degraded.detail}`,
        );
    }
    expect((await struck).degraded).toBeDefined();
  }
  // A pause of this machine is longer than the time limit now and then.
  expect(degraded.length / calls, degraded.join('\n')).toBeLessThan(0.01);
  await proxy.pass();
  await decided(limiter, 'a');
});

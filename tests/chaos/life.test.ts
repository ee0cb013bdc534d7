import { type IoredisClusterLike, ioredisClusterPreset, redisStore } from 'comporta/redis';
import { Cluster as Ioredis6 } from 'ioredis';
import { Cluster as Ioredis5 } from 'ioredis5';
import { Cluster as Iovalkey } from 'iovalkey';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { monotonicUs } from '../cluster/monotonic.js';
import { type Cluster, startCluster } from '../support/cluster.js';
import { freePort } from '../support/ports.js';
import { startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';
import { type Child, startChild } from './child.js';
import { clientNames } from './clients.js';
import type { Life, LifeArgs } from './life-child.js';

let server: Server | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

function start(args: LifeArgs): Child<Life> {
  const child = startChild<Life>(new URL('./life-child.ts', import.meta.url), args);
  onTestFinished(() => child.kill());
  return child;
}

const withinMs = <T>(promise: Promise<T>, ms: number): Promise<T> =>
  Promise.race([promise, sleep(ms).then((): never => fail(`the process still runs ${ms} ms after it closed all`))]);

function fail(text: string): never {
  throw new Error(text);
}

/** Ended by itself, without a rejection that nobody handled. */
async function expectQuietEnd(child: Child<Life>): Promise<Life> {
  const life = await child.result;
  expect(life.resources).toEqual([]);
  const { afterMs, ...end } = await withinMs(child.ended, 5000);
  expect(end).toMatchObject({ code: 0, signal: null, complaints: [] });
  expect(afterMs).toBeLessThan(1000);
  return life;
}

describe.each(clientNames)('%s', (client) => {
  test('a process starts without Redis, limits by itself, and uses Redis soon after it appears', async () => {
    const port = await freePort();
    const child = start({ client, port, calls: 60, awaitStore: true, atTheEnd: 0 });
    expect(await child.receive()).toEqual({ degraded: 60 });
    const startedUs = monotonicUs();
    server = await startServer({ port });
    child.send('look');
    const { decidedAtUs } = await expectQuietEnd(child);
    const afterMs = (decidedAtUs - startedUs) / 1000;
    console.log(`${client}: absent for a while, decided ${afterMs.toFixed(0)} ms after the start of its process`);
    expect(afterMs).toBeLessThan(2000);
    expect(await server.command('DBSIZE')).toBe(1);
  });

  test('a process that never saw Redis ends by itself once all is closed', async () => {
    const child = start({ client, port: await freePort(), calls: 3, awaitStore: false, atTheEnd: 0 });
    expect(await expectQuietEnd(child)).toMatchObject({ degraded: 3 });
  });

  test('a process that closes at once, while connecting, ends by itself', async () => {
    server = await startServer();
    await expectQuietEnd(start({ client, port: server.port, calls: 0, awaitStore: false, atTheEnd: 0 }));
  });

  test('a process in the middle of a black hole ends by itself, its last callers answered', async () => {
    server = await startServer();
    await using proxy = await startProxy(server);
    const child = start({ client, port: proxy.port, calls: 20, awaitStore: true, atTheEnd: 20 });
    await child.receive();
    proxy.blackhole();
    child.send('look');
    await proxy.pass();
    await expectQuietEnd(child);
  });
});

type Place = { host: string; port: number };
type Options = Omit<typeof ioredisClusterPreset, 'slotsRefreshInterval'> & { readonly slotsRefreshInterval: number };
const clusterClients: readonly (readonly [string, new (nodes: Place[], options: Options) => IoredisClusterLike])[] = [
  ['ioredis 6', Ioredis6],
  ['ioredis 5', Ioredis5],
  ['iovalkey', Iovalkey],
];

describe('a cluster', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ replicas: 0 });
  });
  afterAll(() => cluster?.stop());
  const child = (args: Partial<LifeArgs>): Child<Life> =>
    start({ client: 'cluster', port: cluster.nodes[0]?.port ?? 0, calls: 0, awaitStore: false, atTheEnd: 0, ...args });

  test('a process that closes at once, while connecting to a cluster, ends by itself', async () => {
    await expectQuietEnd(child({}));
    await expectQuietEnd(child({ calls: 1 }));
  });

  test.each(clusterClients)('%s that is closed while it asks for the map of slots asks no more', async (_, Client) => {
    const nodes = cluster.nodes.map(({ host, port }) => ({ host, port }));
    const clients = Array.from(
      { length: 4 },
      () => new Client(nodes, { ...ioredisClusterPreset, slotsRefreshInterval: 1 }),
    );
    let asked = 0;
    for (const client of clients) {
      client.on('error', () => undefined);
      redisStore(client);
      await until(() => client.status === 'ready');
      const { refreshSlotsCache } = client;
      client.refreshSlotsCache = (done) => {
        asked++;
        refreshSlotsCache.call(client, done);
      };
    }
    await until(() => asked > 20, { everyMs: 1 });
    for (const client of clients) client.disconnect();
    await sleep(300);
    asked = 0;
    await sleep(200);
    expect(asked).toBe(0);
  });

  test('a process that used a cluster ends by itself, calls still under way', async () => {
    const using = child({ awaitStore: true, atTheEnd: 20 });
    await using.receive();
    using.send('look');
    await expectQuietEnd(using);
  });

  test('a process ends by itself while a shard is dead', async () => {
    await (cluster.nodes[1] as Server).kill();
    await expectQuietEnd(child({ calls: 60 }));
  });

  test('a process that never found its cluster ends by itself', async () => {
    expect(await expectQuietEnd(child({ port: await freePort(), calls: 40 }))).toMatchObject({ degraded: 40 });
  });
});

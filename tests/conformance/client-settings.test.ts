import { createLimiter, type Store, tokenBucket } from 'comporta';
import {
  glidePreset,
  ioredisClusterPreset,
  ioredisPreset,
  nodeRedisClusterPreset,
  nodeRedisPreset,
  redisStore,
  type SupportedClient,
  selfTest,
} from 'comporta/redis';
import { storeSuite } from 'comporta/testing';
import * as ioredis6 from 'ioredis';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, slotOf, startCluster } from '../support/cluster.js';
import { type Server, startServer } from '../support/servers.js';
import { beforeEnd, connected, glide, type Make, mine, places, ready } from './odd-clients.js';

// A client that cannot do its work says so with the first decision, one whose settings break a promise when the
// store is made, and one that is only set differently works. Real clients of real packages on real servers.
let server: Server;
let cluster: Cluster;
let withoutEvalsha: Server;
/** A node that does not serve the subject of the decisions. */
let elsewhere: Server;
beforeAll(async () => {
  [server, cluster, withoutEvalsha] = await Promise.all([
    startServer(),
    startCluster(),
    startServer({ args: ['--rename-command', 'EVALSHA', ''] }),
  ]);
  const owner = await cluster.nodeForSlot(slotOf('{a}'));
  elsewhere = cluster.primaries.find((node) => node !== owner) as Server;
});
afterAll(() => Promise.all([server, cluster, withoutEvalsha].map((each) => each?.stop())));

const at = () => ({ host: server.host, port: server.port });
const nodes = () => cluster.primaries.map(({ host, port }) => ({ host, port }));
const rootNodes = () => cluster.primaries.map(({ url }) => ({ url }));

const storeOn = (client: object, warnings: string[]): Store =>
  redisStore(mine(client) as SupportedClient, { onWarning: (text) => warnings.push(text) });

/** The first decision that the store makes; without one in so long, what the others said in place of it. */
async function firstDecision(store: Store, patienceMs = 15_000): Promise<string> {
  const limits = tokenBucket({ capacity: 100, refill: 1, every: '1h' });
  const limiter = createLimiter({ policy: 'first', limits, store, onStoreFailure: 'open', timeoutMs: 1000 });
  beforeEnd(() => limiter.close());
  const details: string[] = [];
  for (const endMs = performance.now() + patienceMs; performance.now() < endMs; ) {
    const { degraded } = await limiter.consume('a');
    if (degraded === undefined) return 'decided';
    details.push(degraded.detail);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return details.join();
}

const told: Readonly<Record<string, readonly [Make, RegExp]>> = {
  'node-redis that was never connected': [() => redis6.createClient({ url: server.url }), /not open.*connect\(\)/],
  'a cluster client of node-redis that was never connected': [
    () => redis6.createCluster({ rootNodes: rootNodes() }),
    /not open.*connect\(\)/,
  ],
  'a closed client of node-redis': [
    async () => {
      const client = await connected(redis6.createClient({ url: server.url }));
      client.destroy();
      return client;
    },
    /not open/,
  ],
  'node-redis 5 that subscribes': [
    async () => {
      const client = await connected(redis5.createClient({ url: server.url }));
      await client.subscribe('news', () => undefined);
      return client;
    },
    /only \(P\|S\)SUBSCRIBE/,
  ],
  'a database number in a cluster of node-redis': [
    async () => {
      const defaults = { ...nodeRedisClusterPreset.defaults, database: 2 };
      const client = mine(redis6.createCluster({ rootNodes: rootNodes(), ...nodeRedisClusterPreset, defaults }));
      await expect(client.connect()).rejects.toThrow();
      return client;
    },
    /not open: its connect\(\) was not called or failed/,
  ],
  'a single client on a node of a cluster': [
    () => mine(new ioredis6.Redis({ ...cluster.primaries[0], ...ioredisPreset, port: elsewhere.port })),
    /a node of a cluster, used as a single server/,
  ],
  'a single client of GLIDE on a node of a cluster': [
    () =>
      glide().GlideClient.createClient({ ...places([{ host: server.host, port: elsewhere.port }]), ...glidePreset }),
    /a node of a cluster, used as a single server/,
  ],
  'an ioredis Cluster on a single server': [
    () => mine(new ioredis6.Cluster([at()], ioredisClusterPreset)),
    /Failed to refresh slots cache|cluster support disabled/,
  ],
  'a server or a stand-in for one without EVALSHA': [
    () => mine(new ioredis6.Redis({ ...at(), ...ioredisPreset, port: withoutEvalsha.port })),
    /unknown command 'EVALSHA'/,
  ],
};

test.each(Object.entries(told))('%s is told by the first decision and by the self-test', async (_, [make, why]) => {
  const store = storeOn(await make(), []);
  expect(await firstDecision(store, 1500)).toMatch(why);
  const findings = await selfTest(store, { connectMs: 300 });
  const errors = findings.filter(({ level }) => level === 'error');
  expect(errors.map(({ message }) => message).join()).toMatch(why);
});

const BYTES = 0;
const warned: Readonly<Record<string, readonly [Make, readonly RegExp[]]>> = {
  'ioredis without the preset': [() => mine(new ioredis6.Redis(at())), [/autoResendUnfulfilledCommands/]],
  'ioredis with auto-pipelining': [
    () => mine(new ioredis6.Redis({ ...at(), ...ioredisPreset, enableAutoPipelining: true })),
    [/enableAutoPipelining/],
  ],
  'ioredis that does not reconnect': [
    () => mine(new ioredis6.Redis({ ...at(), ...ioredisPreset, retryStrategy: null as never })),
    [/retryStrategy is switched off/],
  ],
  'node-redis 6 that does not reconnect': [
    () => connected(redis6.createClient({ url: server.url, socket: { reconnectStrategy: false } })),
    [/reconnectStrategy is false/],
  ],
  'node-redis 5 with a socketTimeout and nothing for after it': [
    () => connected(redis5.createClient({ url: server.url, socket: { socketTimeout: 5000 } })),
    [/socketTimeout is set without a reconnectStrategy/],
  ],
  'GLIDE without the preset': [() => glide().GlideClient.createClient(places([at()])), [/requestTimeout is 250 ms/]],
  'GLIDE for a cluster without the preset': [
    () => glide().GlideClusterClient.createClient(places(nodes())),
    [/requestTimeout/, /recoveryRequestsQueueSize/, /periodicChecks/],
  ],
};

test.each(Object.entries(warned))('%s works, with a warning of each setting', async (_, [make, expected]) => {
  const warnings: string[] = [];
  expect(await firstDecision(storeOn(await make(), warnings))).toBe('decided');
  expect(warnings).toEqual(expected.map((each) => expect.stringMatching(each)));
});

/** Settings of an application that change what replies look like or where they come from. */
const { RESP_TYPES: R6 } = redis6;
const { RESP_TYPES: R5 } = redis5;
const noTimer = { timeout: 0 } as const;
/** The suite asks for 500 subjects at once, which a busy machine may not answer in the second of the preset. */
const unhurried = { ...ioredisPreset, commandTimeout: 10_000 };
/** The suite waits longer than decisions do by default, which has a warning of its own. */
const patient = { ...glidePreset, requestTimeout: 1000 };
const working: Readonly<Record<string, Make>> = {
  'ioredis with stringNumbers': () => mine(new ioredis6.Redis({ ...at(), ...unhurried, stringNumbers: true })),
  'ioredis with the replies of RESP3': () =>
    mine(new ioredis6.Redis({ ...at(), ...unhurried, protocol: 3, replyMapping: 'resp3' })),
  'ioredis 6 that subscribes, by RESP3': async () => {
    const client = new ioredis6.Redis({ ...at(), ...unhurried, protocol: 3 });
    await ready(client);
    await client.subscribe('news');
    return client;
  },
  'ioredis without a ready check': () => mine(new ioredis6.Redis({ ...at(), ...unhurried, enableReadyCheck: false })),
  'ioredis that connects lazily': () => mine(new ioredis6.Redis({ ...at(), ...unhurried, lazyConnect: true })),
  'an ioredis Cluster that connects lazily': () =>
    mine(new ioredis6.Cluster(nodes(), { ...ioredisClusterPreset, lazyConnect: true })),
  'an ioredis Cluster that reads from replicas': () =>
    mine(new ioredis6.Cluster(nodes(), { ...ioredisClusterPreset, scaleReads: 'slave' })),
  'an ioredis Cluster with a database number, which ioredis leaves out': () =>
    mine(
      new ioredis6.Cluster(nodes(), {
        ...ioredisClusterPreset,
        redisOptions: { ...ioredisClusterPreset.redisOptions, db: 2 },
      }),
    ),
  'node-redis 6 with types of its own': () => {
    const typeMapping = { [R6.BLOB_STRING]: Buffer, [R6.NUMBER]: String };
    return connected(
      redis6.createClient({ url: server.url, ...nodeRedisPreset, commandOptions: { ...noTimer, typeMapping } }),
    );
  },
  'node-redis 5 with types of its own': () => {
    const typeMapping = { [R5.BLOB_STRING]: Buffer, [R5.NUMBER]: String };
    return connected(
      redis5.createClient({
        url: server.url,
        RESP: 3,
        ...nodeRedisPreset,
        commandOptions: { ...noTimer, typeMapping },
      }),
    );
  },
  'a cluster of node-redis 6 with types of its own, that reads from replicas': () => {
    const commandOptions = { ...noTimer, typeMapping: { [R6.BLOB_STRING]: Buffer, [R6.NUMBER]: String } };
    return connected(
      redis6.createCluster({ rootNodes: rootNodes(), ...nodeRedisClusterPreset, useReplicas: true, commandOptions }),
    );
  },
  'GLIDE that gives bytes': () =>
    glide().GlideClient.createClient({ ...places([at()]), ...patient, defaultDecoder: BYTES }),
  'GLIDE that connects lazily': () =>
    glide().GlideClient.createClient({ ...places([at()]), ...patient, lazyConnect: true }),
  'GLIDE for a cluster that connects lazily and reads from replicas': () =>
    glide().GlideClusterClient.createClient({
      ...places(nodes()),
      ...patient,
      lazyConnect: true,
      readFrom: 'preferReplica',
    }),
};

test.each(Object.entries(working))('%s works like any other, without a warning', async (_, make) => {
  await Promise.all([server, ...cluster.primaries].map((each) => each.command('FLUSHALL')));
  const warnings: string[] = [];
  const store = storeOn(await make(), warnings);
  expect(await firstDecision(store)).toBe('decided');
  expect(warnings.filter((text) => !text.includes('requestTimeout'))).toEqual([]);
  await store.ready?.(5000);
  for (const { run } of storeSuite) await run(store);
  const findings = await selfTest(store);
  expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
});

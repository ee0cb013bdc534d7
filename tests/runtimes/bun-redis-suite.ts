// Run by Bun, with the port of a server, and of a node of a cluster: the cases of a store on Redis, and what only
// Bun's own client has. The last line says what failed.
import assert from 'node:assert/strict';
import { createLimiter, fixedWindow, type Store } from 'comporta';
import { type BunRedisLike, bunPreset, redisStore, selfTest } from 'comporta/redis';
import { storeSuite } from 'comporta/testing';
import { redisCases } from '../conformance/redis-suite.js';
import { Connection } from '../support/connection.js';
import { type FaultProxy, startProxy } from '../support/proxy.js';
import { quickestMs, until } from '../support/wait.js';

type Listener = (() => void) | null;
type BunClient = BunRedisLike & { onconnect: Listener; onclose: Listener };
interface Bun {
  readonly RedisClient: new (url: string, options: object) => BunClient;
}
const { RedisClient } = (globalThis as unknown as { readonly Bun: Bun }).Bun;

const [port = 0, clusterPort = 0] = process.argv.slice(2).map(Number);
const urlOf = (to: number) => `redis://127.0.0.1:${to}`;
const server = await Connection.open(port);

interface Case {
  readonly name: string;
  run(): Promise<void>;
}

interface Ground {
  readonly proxy: FaultProxy;
  readonly client: BunClient;
  readonly store: Store;
  /** One request under a limit of its own; true when the store decided. */
  decide(subject: string): Promise<boolean>;
}

/** A store on a client of its own, behind a proxy. */
function behindProxy(name: string, run: (ground: Ground) => Promise<void>): Case {
  const inside = async () => {
    const proxy = await startProxy(port);
    const client = new RedisClient(proxy.url, bunPreset);
    const store = redisStore(client);
    const limits = fixedWindow({ limit: 100, window: '1h' });
    const limiter = createLimiter({ policy: 'bun', limits, store, onStoreFailure: 'open' });
    const decide = async (subject: string) => (await limiter.consume(subject)).degraded === undefined;
    try {
      await run({ proxy, client, store, decide });
    } finally {
      await limiter.close();
      client.close();
      await proxy.close();
    }
  };
  return { name, run: inside };
}

const evals = (proxy: FaultProxy) => proxy.count('EVAL') + proxy.count('EVALSHA');
const decided = ({ decide }: Ground, subject: string) =>
  until(() => decide(subject), { what: 'a decision of the store', timeoutMs: 10_000 });

const own: readonly Case[] = [
  behindProxy('a call whose answer is lost is sent once, and never later', async (ground) => {
    const { proxy, decide } = ground;
    await decided(ground, 'once');
    const key = (await server.command('KEYS', '*{once}:bun:*')) as string[];
    const before = Number(await server.command('GET', key[0] ?? ''));
    proxy.forget();
    proxy.dropReplies();
    assert.equal(await decide('once'), false);
    proxy.reset();
    await proxy.pass();
    await decided(ground, 'other');
    assert.equal(proxy.seen.filter(({ args }) => args.includes(key[0] ?? '')).length, 1);
    assert.equal(Number(await server.command('GET', key[0] ?? '')), before + 1);
  }),
  behindProxy('without a connection nothing is queued: a call is answered at once and never sent', async (ground) => {
    const { proxy, decide } = ground;
    await decided(ground, 'gone');
    await proxy.down();
    await until(() => !ground.client.connected);
    proxy.forget();
    assert.equal(await decide('gone'), false);
    assert.ok((await quickestMs(() => decide('gone'))) < 40);
    await proxy.pass();
    await until(() => ground.store.ping().then(() => true));
    assert.equal(evals(proxy), 0);
  }),
  behindProxy('a connection that says nothing is begun anew', async (ground) => {
    const { proxy, decide } = ground;
    await decided(ground, 'silent');
    proxy.blackhole();
    const isAnother = () => proxy.seen.some(({ connection }) => connection > 1);
    await until(async () => !(await decide('silent')) && isAnother(), { everyMs: 60, timeoutMs: 5000 });
    await proxy.pass();
    await decided(ground, 'silent');
  }),
  behindProxy('a server that comes after the first attempt to connect failed is found', async (ground) => {
    const { proxy, client } = ground;
    proxy.blackhole();
    await until(() =>
      ground.store.ping().then(
        () => false,
        (error: Error) => /closed|timed? ?out/i.test(error.message),
      ),
    );
    assert.equal(client.connected, false);
    await proxy.pass();
    await decided(ground, 'late');
  }),
  behindProxy('its onconnect and onclose stay those of its owner', async (ground) => {
    const { proxy, client } = ground;
    const heard: string[] = [];
    client.onconnect = () => heard.push('connect');
    client.onclose = () => heard.push('close');
    await decided(ground, 'heard');
    proxy.reset();
    await until(() => heard.includes('close') || !client.connected);
    await decided(ground, 'heard');
    assert.ok(heard.includes('connect'));
  }),
  {
    name: 'closing the store leaves the client open',
    run: async () => {
      const client = new RedisClient(urlOf(port), bunPreset);
      const store = redisStore(client);
      await store.ready();
      await store.close();
      assert.equal(await client.send('PING', []), 'PONG');
      client.close();
    },
  },
  {
    name: 'a node of a cluster is a fault of the settings, and the finding names what to use',
    run: async () => {
      assert.throws(() => new RedisClient('redis-cluster://127.0.0.1:1', bunPreset), /protocol/);
      const client = new RedisClient(urlOf(clusterPort), bunPreset);
      const store = redisStore(client);
      await store.ready();
      const limits = fixedWindow({ limit: 1, window: '1h' });
      const limiter = createLimiter({ policy: 'cluster', limits, store, onStoreFailure: 'closed' });
      const decisions = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((subject) => limiter.consume(subject)));
      const details = decisions.flatMap(({ degraded }) => (degraded === undefined ? [] : [degraded]));
      assert.ok(details.some(({ cause, detail }) => cause === 'misconfigured' && detail.includes('redis-cluster://')));
      const findings = await selfTest(store);
      assert.match(findings.map(({ message }) => message).join(), /a node of a cluster, used as a single server/);
      await limiter.close();
      client.close();
    },
  },
];

const client = new RedisClient(urlOf(port), bunPreset);
const store = redisStore(client);
await store.ready();
await server.command('FLUSHALL');
const cases: readonly Case[] = [
  ...storeSuite.map(({ name, run }) => ({ name, run: async () => run(store) })),
  ...redisCases.map(({ name, run }) => ({ name, run: () => run(store, [server]) })),
  ...own,
];
const failures: string[] = [];
for (const { name, run } of cases) {
  try {
    await run();
  } catch (error) {
    failures.push(`${name}: ${error instanceof Error ? error.stack : error}`);
  }
}
console.log(JSON.stringify({ passed: cases.length - failures.length, failures }));
process.exit();

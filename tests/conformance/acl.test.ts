import { createLimiter, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scriptCommands } from '../../packages/comporta/src/redis/check-rights.js';
import { PRESENCE_TAG } from '../../packages/comporta/src/stores/presence.js';
import { PRESENCE_SCRIPT } from '../../packages/comporta/src/stores/presence-script.js';
import { PROBE_LIMITS } from '../../packages/comporta/src/stores/probe.js';
import { type Cluster, slotOf, startCluster } from '../support/cluster.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { asksInfo, type ClientKind, clients, type Opened } from './clients.js';
import { connected, exercise } from './exercise.js';

/** Commands that the scripts give, beside those that run them: each is checked inside a script as outside. */
const IN_SCRIPTS = [
  ...['+time', '+get', '+set', '+del', '+exists', '+incr', '+pexpire', '+pttl'],
  ...['+lindex', '+llen', '+lpush', '+lrange', '+ltrim', '+rpush'],
  ...['+zadd', '+zcard', '+zcount', '+zrange', '+zrangebyscore'],
  ...['+zrem', '+zremrangebyrank', '+zremrangebyscore', '+zscore'],
];

/** The least rights that a user needs: `ACL SETUSER name on >password ...`. PING is for readiness checks. */
const RULES = ['-@all', '~cmp1:*', '+ping', '+eval', '+evalsha', ...IN_SCRIPTS];

/** On a cluster also the map of slots, and the word that goes before a call to a slot on the move. */
const CLUSTER_RULES = [...RULES, '+cluster|slots', '+asking'];

/** What ioredis asks a server before it uses it: `enableReadyCheck` of a connection, and of a cluster. */
const IOREDIS_RULES = ['+info', '+cluster|info'];

const rulesFor = (client: ClientKind, rules: readonly string[]): string[] =>
  asksInfo(client) ? [...rules, ...IOREDIS_RULES] : [...rules];

const login = { username: 'comporta', password: 'a-secret' };
const allow = (server: Server, rules: readonly string[]) =>
  server.command('ACL', 'SETUSER', login.username, 'reset', 'on', `>${login.password}`, ...rules);

test('the list names every command of the scripts and no other', () => {
  const inPresence = [...PRESENCE_SCRIPT.text.matchAll(/redis\.call\('([A-Z]+)'/g)].map(([, name]) =>
    name?.toLowerCase(),
  );
  expect(inPresence.length).toBeGreaterThan(0);
  const names = new Set([...scriptCommands(PROBE_LIMITS), ...inPresence].map((name) => `+${name}`));
  expect([...names].sort()).toEqual([...IN_SCRIPTS].sort());
});

const presence = async (server: Server) => (await server.command('KEYS', `*{${PRESENCE_TAG}}*`)) as string[];

describe.each(installedKinds())('%s', (kind) => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ kind, args: ['--requirepass', 'admin'] });
    await server.command('AUTH', 'admin');
  });
  afterAll(() => server?.stop());

  const open = async (client: ClientKind): Promise<Opened> => {
    const opened = await client.single(server.port, login);
    expect(await connected(opened.store, 'a', 5000)).toBe(true);
    return opened;
  };

  test.each(clients.map((client) => [client.name, client] as const))(
    '%s needs no more than the list, after SCRIPT FLUSH too',
    async (_, client) => {
      await allow(server, rulesFor(client, RULES));
      await server.command('FLUSHALL');
      const opened = await open(client);
      for (const subject of ['before', 'after']) {
        expect(await exercise(opened.store, subject)).toEqual([]);
        await until(async () => (await presence(server)).length > 0, { what: 'word that this process is alive' });
        await server.command('SCRIPT', 'FLUSH');
      }
      await opened.close();
    },
  );

  test('without any one entry something fails, as a fault of the settings', async () => {
    await allow(server, RULES);
    const [client] = clients;
    const opened = await open(client as ClientKind);
    for (const rule of RULES.slice(1)) {
      await server.command('SCRIPT', 'FLUSH');
      await allow(
        server,
        RULES.filter((one) => one !== rule),
      );
      const failures = await exercise(opened.store, rule);
      expect(failures, rule).not.toEqual([]);
      expect(failures.join(), rule).toMatch(/NOPERM|ACL|permission|can't run this command/);
    }
    await opened.close();
  });

  test('keys outside the pattern are refused, the decision says so, and only in the words for logs', async () => {
    await allow(server, RULES);
    const store = redisStore(`redis://${login.username}:${login.password}@127.0.0.1:${server.port}`, {
      keyPrefix: 'other',
    });
    const limits = slidingWindow({ limit: 1, window: '1s' });
    const limiter = createLimiter({ policy: 'p', limits, store, timeoutMs: 5000, onStoreFailure: 'open' });
    await expect.poll(() => store.ping().then(() => 'ready'), { timeout: 5000 }).toBe('ready');
    const decision = await limiter.consume('a');
    expect(decision).toMatchObject({ allowed: true, degraded: { mode: 'open', cause: 'misconfigured' } });
    expect(decision.degraded?.detail).toMatch(/NOPERM/);
    expect(decision.degraded?.detail).not.toContain(login.password);
    await store.close();
  });
});

describe.each(installedKinds())('%s cluster', (kind) => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ kind, replicas: 0 });
  });
  afterAll(() => cluster?.stop());

  const ofCluster = clients
    .filter(({ name }) => !name.includes('RESP2'))
    .map((client) => [client.name, client] as const);
  test.each(ofCluster)('%s needs no more than the list, on a slot on the move too', async (_, client) => {
    for (const node of cluster.primaries) {
      await node.command('FLUSHALL');
      await allow(node, rulesFor(client, CLUSTER_RULES));
    }
    const opened = await client.cluster(
      cluster.primaries.map(({ port }) => port),
      login,
    );
    expect(await connected(opened.store, 'a', 5000)).toBe(true);
    await Promise.all(['b', 'c', 'd', 'moves'].map((subject) => connected(opened.store, subject, 5000)));
    expect(await exercise(opened.store, 'a')).toEqual([]);
    const limits = slidingWindow({ limit: 5, window: '1m' });
    const options = { limits, store: opened.store, timeoutMs: 5000, onStoreFailure: 'closed' } as const;
    const limiter = createLimiter({ policy: 'move', ...options });
    const subject = 'moves';
    const from = await cluster.nodeForKey(`{${subject}}`);
    const to = cluster.primaries.find((node) => node !== from) as Server;
    const move = await cluster.beginMove(slotOf(`{${subject}}`), to);
    expect(await limiter.consume(subject)).toMatchObject({ allowed: true, degraded: undefined });
    await allow(
      to,
      rulesFor(client, CLUSTER_RULES).filter((rule) => rule !== '+asking'),
    );
    expect((await limiter.consume(subject)).degraded).toBeDefined();
    await allow(to, rulesFor(client, CLUSTER_RULES));
    await move.finish();
    await opened.close();
  });
});

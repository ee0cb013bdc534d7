import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  slidingWindow,
  tokenBucket,
} from 'comporta';
import { ioredisClusterPreset, redisStore } from 'comporta/redis';
import { Cluster as IoredisCluster } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import { startProxy } from '../support/proxy.js';
import { type Server, startServer } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';
import { startWorkers } from '../support/workers.js';
import type { BatchArgs, BatchLog } from './batch-worker.js';
import { LoopWatch, stalledMs } from './loop-watch.js';
import { monotonicUs } from './monotonic.js';
import { callsOf } from './stats.js';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

describe('a cluster', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster?.stop());

  test('four processes get exactly the limit of each hot subject, many decisions in a call', async () => {
    const subjects = ['a', 'b', 'c'];
    const args: BatchArgs = { url: cluster.url, subjects, limit: 7001, inFlight: 192, calls: 10_500 };
    const before = await callsOf(cluster.primaries, 'evalsha');
    await using workers = startWorkers<BatchLog>(4, new URL('./batch-worker.ts', import.meta.url), args);
    await workers.receive();
    workers.send('go');
    const logs = await workers.results();
    const calls = (await callsOf(cluster.primaries, 'evalsha')) - before;
    expect(logs.flatMap(({ degraded }) => degraded)).toEqual([]);
    // More was asked for than there is, and at the end costs of 1 find whatever is left.
    expect(subjects.map((_, i) => sum(logs.map(({ admitted }) => admitted[i] ?? 0)))).toEqual([7001, 7001, 7001]);
    console.log(`${4 * args.calls} decisions in ${calls} calls`);
    expect(calls).toBeLessThan(args.calls);
  });

  test('calls of one turn reach each node in a few writes', async () => {
    const nodes = cluster.primaries.map(({ port, host }) => ({ port, host }));
    const client = new IoredisCluster(nodes, ioredisClusterPreset);
    await until(() => client.status === 'ready');
    const store = redisStore(client);
    const limiter = createLimiter({ policy: 'turn', limits: fixedWindow({ limit: 9, window: '1h' }), store });
    const ask = (name: string) => Promise.all(range(300).map((i) => limiter.consume(`${name}${i}`)));
    await ask('first');
    const writes = client
      .nodes('master')
      .flatMap(({ stream }) => [vi.spyOn(stream, '_write'), vi.spyOn(stream, '_writev')]);
    const decisions = await ask('then');
    expect(decisions.filter(({ allowed, degraded }) => allowed && degraded === undefined)).toHaveLength(300);
    expect(sum(writes.map(({ mock }) => mock.calls.length))).toBeLessThan(30);
    await limiter.close();
    client.disconnect();
  });

  test('a slot on its way costs no decision and charges none twice', async () => {
    const store = redisStore(cluster.url);
    const limits = fixedWindow({ limit: 1500, window: '1h' });
    const limiter = createLimiter({ policy: 'moves', limits, store, timeoutMs: 2000, onStoreFailure: 'closed' });
    await until(async () => (await limiter.consume('m')).degraded === undefined);
    const { slotOf } = await import('../support/slots.js');
    const slot = slotOf('{m}');
    const from = await cluster.nodeForSlot(slot);
    const to = cluster.primaries.find((node) => node !== from) as Server;
    const decisions: Decision[] = [];
    let isOver = false;
    const load = async (): Promise<void> => {
      while (!isOver) decisions.push(await limiter.consume('m'));
    };
    const loads = range(32).map(load);
    const move = await cluster.beginMove(slot, to);
    await sleep(20);
    await move.finish();
    await until(() => decisions.some(({ allowed }) => !allowed));
    isOver = true;
    await Promise.all(loads);
    expect(decisions.filter(({ degraded }) => degraded !== undefined)).toEqual([]);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(1499);
    await store.close();
  });
});

describe('one server', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.stop());

  async function connected(port = server.port, batch = true) {
    const store = redisStore(`redis://127.0.0.1:${port}`, { batch });
    await store.ready(5000);
    return store;
  }
  const consumeAll = (limiter: Limiter, subjects: readonly string[]): Promise<Decision[]> =>
    Promise.all(subjects.map((subject) => limiter.consume(subject)));

  test('an error of one subject is its own, and nothing of it is half charged', async () => {
    const store = await connected();
    const limits = [tokenBucket({ capacity: 9, refill: 1, every: '1h' }), slidingWindow({ limit: 9, window: '1h' })];
    const limiter = createLimiter({ policy: 'odd', limits, store, timeoutMs: 2000, onStoreFailure: 'closed' });
    await limiter.consume('first');
    const [bucket = '', log = ''] = (await server.command('KEYS', 'cmp1:{first}:odd:*')) as string[];
    const keyOf = (subject: string, key: string): string => key.replace('first', subject);
    for (const key of [bucket, log]) await server.command('SADD', keyOf(`bad-${key === log}`, key), 'x');
    const subjects = ['good-1', 'bad-true', 'good-2', 'bad-false', 'good-1', 'good-3'];
    const before = await callsOf([server], 'evalsha');
    // A few go at once, and all others together.
    const atOnce = range(8).map((i) => `at-once-${i}`);
    const all = await consumeAll(limiter, [...atOnce, ...subjects]);
    expect((await callsOf([server], 'evalsha')) - before).toBeLessThanOrEqual(9);
    const decisions = all.slice(8);
    const outcomes = decisions.map(({ allowed, degraded }) => [
      allowed,
      degraded?.cause,
      degraded?.detail?.slice(0, 9),
    ]);
    const wrong = [false, 'misconfigured', 'WRONGTYPE'];
    const good = [true, undefined, undefined];
    expect(outcomes).toEqual([good, wrong, good, wrong, good, good]);
    expect(decisions[4]?.limits.map(({ remaining }) => remaining)).toEqual([7, 7]);
    for (const [subject, key] of [
      ['bad-true', bucket],
      ['bad-false', log],
    ] as const) {
      expect(await server.command('EXISTS', keyOf(subject, key))).toBe(0);
    }
    await store.close();
  });

  test('a full server refuses a whole call before anything of it is charged', async () => {
    const store = await connected();
    const limits = tokenBucket({ capacity: 9, refill: 1, every: '1h' });
    const limiter = createLimiter({ policy: 'full', limits, store, timeoutMs: 2000, onStoreFailure: 'closed' });
    const subjects = range(12).map(String);
    await consumeAll(limiter, subjects);
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    const full = await consumeAll(limiter, subjects);
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    expect(full.map(({ degraded }) => degraded?.detail?.slice(0, 3))).toEqual(subjects.map(() => 'OOM'));
    await until(async () => (await limiter.consume('other')).degraded === undefined);
    const after = await consumeAll(limiter, subjects);
    expect(after.map(({ binding }) => binding?.remaining)).toEqual(subjects.map(() => 7));
    await store.close();
  });

  test('a frozen server costs each call its time limit and no more', async () => {
    const store = await connected();
    const limits = tokenBucket({ capacity: 1_000_000, refill: 1000, every: '1s' });
    const limiter = createLimiter({ policy: 'frozen', limits, store, timeoutMs: 50, onStoreFailure: 'open' });
    const watch = new LoopWatch();
    const lateMs: number[] = [];
    let isOver = false;
    const load = async (): Promise<void> => {
      while (!isOver) {
        const sentUs = monotonicUs();
        const { degraded } = await limiter.consume('s');
        watch.note();
        const endUs = monotonicUs();
        lateMs.push((endUs - sentUs) / 1000 - 50 - stalledMs(watch.stalls, sentUs, endUs));
        // The breaker answers at once, of which nothing is to be learned here.
        if (degraded?.cause === 'breaker-open') await sleep(5);
      }
    };
    const loads = range(64).map(load);
    await sleep(100);
    server.freeze();
    await sleep(600);
    server.thaw();
    await until(async () => (await limiter.consume('s')).degraded === undefined);
    isOver = true;
    await Promise.all(loads);
    watch.stop();
    console.log(`${lateMs.length} decisions, at most ${Math.max(...lateMs).toFixed(1)} ms beyond the time limit`);
    expect(Math.max(...lateMs)).toBeLessThan(20);
    await limiter.close();
    await store.close();
  });

  test.each([true, false])('connections that are lost under load send nothing twice (batch: %s)', async (batch) => {
    const proxy = await startProxy(server);
    const store = await connected(proxy.port, batch);
    const limits = concurrency({ limit: 100_000, lease: '1h' });
    const policy = `lost-${batch}`;
    const limiter = createLimiter({ policy, limits, store, timeoutMs: 200, onStoreFailure: 'closed' });
    await until(async () => (await limiter.consume('s')).degraded === undefined);
    const decisions: Decision[] = [];
    let isOver = false;
    const load = async (): Promise<void> => {
      while (!isOver) {
        decisions.push(await limiter.consume('s'));
        await sleep(1);
      }
    };
    const loads = range(32).map(load);
    for (let i = 0; i < 5; i++) {
      await sleep(60);
      proxy.reset();
    }
    isOver = true;
    await Promise.all(loads);
    // Each decision is named by its holder; a name that stands twice was sent twice.
    const ids = new Set(decisions.map(({ id }) => id));
    const sent = proxy.seen.flatMap(({ name, args }) => (/^EVAL/.test(name) ? args.filter((arg) => ids.has(arg)) : []));
    expect(decisions.some(({ degraded }) => degraded !== undefined)).toBe(true);
    // A script that the server has to learn first is sent again, and nothing has run before.
    const taught = proxy.seen.flatMap(({ name, args }) => (name === 'EVAL' ? args.filter((arg) => ids.has(arg)) : []));
    expect(sent.length - taught.length).toBe(new Set(sent).size);
    const [key = ''] = (await server.command('KEYS', `cmp1:{s}:${policy}:*`)) as string[];
    const held = Number(await server.command('ZCARD', key));
    const allowed = decisions.filter((decision) => decision.allowed).length;
    // Of the calls that were lost some were carried out; each once at most.
    expect(held).toBeGreaterThanOrEqual(allowed);
    expect(held).toBeLessThanOrEqual(new Set(sent).size + 5);
    await store.close();
    await proxy.close();
  });
});

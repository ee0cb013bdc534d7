import {
  createLimiter,
  type FailureMode,
  fixedWindow,
  isComportaError,
  type Limiter,
  type Store,
  slidingWindow,
  tokenBucket,
} from 'comporta';
import { ioredisClusterPreset, ioredisPreset, redisStore, type SupportedClient } from 'comporta/redis';
import { Cluster, Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { clients, type Opened } from './clients.js';
import { connected } from './exercise.js';

const three = [
  slidingWindow({ limit: 5, window: '1h' }),
  tokenBucket({ capacity: 5, refill: 1, every: '1h' }),
  fixedWindow({ limit: 5, window: '1d' }),
];
const keyOf = (subject: string, limit: string, tag: string): string => `cmp1:{${subject}}:p:${limit}:${tag}`;
/** Keys of subjects; the one in which processes say that they are alive is none. */
async function subjectKeys(server: Server): Promise<number> {
  const keys = (await server.command('KEYS', '*')) as string[];
  return keys.filter((key) => !key.includes('{%')).length;
}

const limiterOn = (store: Store, onStoreFailure: FailureMode = 'closed'): Limiter =>
  createLimiter({ policy: 'p', limits: three, store, timeoutMs: 5000, onStoreFailure });

describe.each(installedKinds())('%s', (kind) => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ kind });
  });
  afterAll(() => server?.stop());

  describe.each(clients.map((client) => [client.name, client] as const))('%s', (_, client) => {
    let opened: Opened;
    let limiter: Limiter;
    beforeEach(async () => {
      await server.command('FLUSHALL');
      opened = await client.single(server.port);
      expect(await connected(opened.store, 'a', 5000)).toBe(true);
      limiter = limiterOn(opened.store);
    });
    afterEach(async () => {
      await server.command('CONFIG', 'SET', 'maxmemory', 0);
      await opened.close();
    });

    test.each([
      ['slidingWindow', 'sw', ['SET', 'text']],
      ['tokenBucket', 'tb', ['RPUSH', 'text']],
      ['fixedWindow', 'fw', ['HSET', 'text', 'text']],
    ])(
      'a value of another type under the name of a %s fails that subject only, writes nothing, and a reset mends it',
      async (limit, tag, [command = '', ...value]) => {
        await server.command(command, keyOf('a', limit, tag), ...value);
        const decision = await limiter.consume('a');
        expect(decision).toMatchObject({
          allowed: false,
          reason: 'store-unavailable',
          degraded: { cause: 'misconfigured' },
        });
        expect(decision.degraded?.detail).toContain('WRONGTYPE');
        expect(await subjectKeys(server)).toBe(1);
        expect(await limiter.consume('b')).toMatchObject({ allowed: true, degraded: undefined });
        expect(await limiter.reset('a')).toEqual({ keysRemoved: 1 });
        expect(await limiter.consume('a')).toMatchObject({ allowed: true, degraded: undefined });
      },
    );

    test.each([
      ['tokenBucket', 'tb'],
      ['fixedWindow', 'fw'],
    ])('a value of a %s that is cut short fails that subject only, and writes nothing', async (limit, tag) => {
      await server.command('SET', keyOf('a', limit, tag), 'short');
      expect(await limiter.consume('a')).toMatchObject({ allowed: false, degraded: { cause: 'misconfigured' } });
      expect(await server.command('GET', keyOf('a', limit, tag))).toBe('short');
      expect(await subjectKeys(server)).toBe(1);
      expect(await limiter.consume('b')).toMatchObject({ allowed: true, degraded: undefined });
    });

    test('a full server refuses whole decisions, still looks and resets, and decides again with room', async () => {
      expect(await limiter.consume('old')).toMatchObject({ allowed: true, degraded: undefined });
      const [, used] = /used_memory:(\d+)/.exec(String(await server.command('INFO', 'memory'))) ?? [];
      await server.command('CONFIG', 'SET', 'maxmemory', Number(used) >> 1);
      const before = await subjectKeys(server);
      for (const subject of ['new', 'old']) {
        const decision = await limiter.consume(subject);
        expect(decision).toMatchObject({ reason: 'store-unavailable', degraded: { cause: 'unavailable' } });
        expect(decision.degraded?.detail).toContain('OOM');
      }
      expect(await subjectKeys(server)).toBe(before);
      expect((await limiter.peek('old')).limits.map(({ remaining }) => remaining)).toEqual([4, 4, 4]);
      expect(await limiter.reset('old')).toEqual({ keysRemoved: 3 });
      await server.command('CONFIG', 'SET', 'maxmemory', 0);
      expect(await limiter.consume('new')).toMatchObject({ allowed: true, degraded: undefined });
    });

    test('a server that became a replica is a failure until it is a primary again', async () => {
      await server.command('REPLICAOF', '127.0.0.1', 1);
      expect(await limiter.consume('a')).toMatchObject({ allowed: false, degraded: { cause: 'unavailable' } });
      await server.command('REPLICAOF', 'NO', 'ONE');
      await until(async () => (await limiter.consume('a')).degraded === undefined, { timeoutMs: 3000 });
    });

    test('clocks of callers that are off by an hour change nothing', async () => {
      for (const [hours, left] of [
        [0, 4],
        [1, 3],
        [-1, 2],
        [24 * 365, 1],
      ] as const) {
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 });
        const decision = await limiter.consume('a').finally(() => vi.useRealTimers());
        expect(decision.limits.map(({ remaining }) => remaining)).toEqual([left, left, left]);
        expect(Math.abs(decision.atUs / 1000 - Date.now())).toBeLessThan(60_000);
      }
    });
  });

  test('a wrong password is named in the words for logs, and is not repeated there', async () => {
    const guarded = await startServer({ kind, args: ['--requirepass', 'right'] });
    const store = redisStore(`redis://:wrong-one@127.0.0.1:${guarded.port}`);
    const limiter = limiterOn(store, 'local');
    await until(async () => (await limiter.consume('a')).degraded?.detail.includes('WRONGPASS'), { timeoutMs: 3000 });
    const { degraded } = await limiter.consume('a');
    expect(degraded).toMatchObject({ mode: 'local', cause: 'unavailable' });
    expect(degraded?.detail).not.toContain('wrong-one');
    await store.close();
    await guarded.stop();
  });
});

describe('clients that are handed in', () => {
  test.each([undefined, null, {}, [], 5, { get: () => 1 }, new Map(), class {}, fetch])('%s is no client', (value) => {
    const attempt = () => redisStore(value as unknown as SupportedClient);
    expect(attempt).toThrow(expect.objectContaining({ code: 'ERR_CLIENT' }));
    try {
      attempt();
    } catch (error) {
      expect(isComportaError(error)).toBe(true);
    }
  });

  const warningsOf = (client: SupportedClient & { disconnect(): void }): string[] => {
    const warnings: string[] = [];
    redisStore(client, { onWarning: (text) => warnings.push(text) });
    client.disconnect();
    return warnings;
  };
  const lazy = { lazyConnect: true, port: 1 };

  test('settings that break a promise are warned of, each with what to do', () => {
    const found = warningsOf(new Redis({ ...lazy, enableAutoPipelining: true }));
    expect(found).toEqual([
      expect.stringMatching(/autoResendUnfulfilledCommands.*set it to false/),
      expect.stringMatching(/enableAutoPipelining.*set it to false/),
    ]);
  });

  test('a setting of a cluster that stands one level too high is not taken for one of its connections', () => {
    const misplaced = { ...lazy, autoResendUnfulfilledCommands: false };
    const cluster = new Cluster([{ port: 1 }], misplaced);
    cluster.on('error', () => undefined);
    expect(warningsOf(cluster)).toEqual([expect.stringContaining('autoResendUnfulfilledCommands')]);
  });

  test('the presets are warned of by nobody', () => {
    expect(warningsOf(new Redis({ ...ioredisPreset, ...lazy }))).toEqual([]);
    expect(warningsOf(new Cluster([{ port: 1 }], { ...ioredisClusterPreset, lazyConnect: true }))).toEqual([]);
  });

  test('without a listener warnings go to the console', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const redis = new Redis(lazy);
    redisStore(redis);
    redis.disconnect();
    expect(warn).toHaveBeenCalledWith(expect.stringMatching(/^comporta: ioredis: /));
    warn.mockRestore();
  });
});

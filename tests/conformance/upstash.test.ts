import { Redis } from '@upstash/redis';
import { createLimiter, type Store, slidingWindow, tokenBucket } from 'comporta';
import { redisStore, selfTest } from 'comporta/redis';
import { storeSuite } from 'comporta/testing';
import { upstashStore } from 'comporta/upstash';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { type BridgeFault, UpstashBridge } from '../support/upstash.js';
import { quickestMs, until } from '../support/wait.js';
import { describeRedisStore } from './stores.js';

let server: Server;
let bridge: UpstashBridge;
beforeAll(async () => {
  server = await startServer();
  bridge = await UpstashBridge.start(server.port);
});
afterAll(async () => {
  await bridge?.stop();
  await server?.stop();
});

function open(options: { batch?: boolean; token?: string } = {}): Store {
  return upstashStore({ url: bridge.url, token: bridge.token, onWarning: () => undefined, ...options });
}

function opened(options?: { batch: boolean }) {
  const store = open(options);
  return { store, close: () => store.close() };
}

describeRedisStore('Upstash', opened, () => [server]);
describeRedisStore(
  'Upstash, each call in a request of its own',
  () => opened({ batch: false }),
  () => [server],
);

describe('Upstash', () => {
  beforeEach(async () => {
    bridge.fault = undefined;
    bridge.requests.length = 0;
    bridge.scripts.clear();
    await server.command('FLUSHALL');
    await server.command('SCRIPT', 'FLUSH');
  });

  test.each(storeSuite.filter(({ part }) => part === 'actions'))('$name', async ({ run }) => {
    const store = open();
    await run(store);
    await store.close();
  });

  test('the bridge serves the client of Upstash itself', async () => {
    const redis = new Redis({ url: bridge.url, token: bridge.token, retry: false, enableTelemetry: false });
    expect(await redis.set('name', 'value')).toBe('OK');
    expect(await redis.get('name')).toBe('value');
    const script = '#!lua flags=allow-key-locking\nreturn { KEYS[1], 7 }';
    await expect(redis.evalsha('0'.repeat(40), [], [])).rejects.toThrow('NOSCRIPT');
    const sha = await redis.scriptLoad(script);
    expect(await redis.eval(script, ['a'], [])).toEqual(['a', 7]);
    expect(typeof sha).toBe('string');
    expect(await redis.createScript(script).exec(['b'], [])).toEqual(['b', 7]);
    expect(await redis.pipeline().incr('n').incr('n').get('name').exec()).toEqual([1, 2, 'value']);
    const stranger = new Redis({ url: bridge.url, token: 'other', retry: false, enableTelemetry: false });
    await expect(stranger.get('name')).rejects.toThrow('WRONGPASS');
  });

  test('every script locks its own keys only', async () => {
    const store = open();
    await selfTest(store);
    // The self-test asks for rights with a script of its own, which touches no key.
    const ours = [...bridge.scripts].filter((text) => !text.includes('acl_check_cmd'));
    expect(ours.length).toBeGreaterThan(10);
    expect(ours.filter((text) => !/^#!lua flags=(no-writes,)?allow-key-locking\n/.test(text))).toEqual([]);
    await store.close();
  });

  test('the self-test finds nothing wrong', async () => {
    const store = open();
    await store.ready();
    await store.ping();
    const findings = await selfTest(store, { timeoutMs: 2000 });
    expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
    expect(findings.map(({ check }) => check)).toContain('scripts');
    await store.close();
  });

  test('calls of one tick travel in one request, in order, and one alone as a plain command', async () => {
    const store = open();
    const limiter = createLimiter({
      policy: 'batch',
      limits: tokenBucket({ capacity: 50, refill: 1, every: '1h' }),
      store,
      timeoutMs: 2000,
    });
    await limiter.consume('first');
    await until(() => bridge.requests.some(({ commands }) => commands[0]?.includes('cmp1:{%presence}:batch')));
    bridge.requests.length = 0;
    const decisions = await Promise.all(Array.from({ length: 60 }, () => limiter.consume('a')));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(50);
    // The first goes at once and the others as two calls, whose script the server learns of one of them.
    const names = bridge.requests.flatMap(({ commands }) => commands.map(([name]) => name));
    expect(names).toEqual(['EVALSHA', 'EVALSHA', 'EVALSHA', 'EVAL', 'EVALSHA']);
    await limiter.peek('a');
    bridge.requests.length = 0;
    await Promise.all(Array.from({ length: 60 }, () => limiter.peek('a')));
    expect(bridge.requests.map(({ path, commands }) => [path, commands.length])).toEqual([['/pipeline', 60]]);
    await limiter.consume('b');
    const { path, commands: [alone] = [] } = bridge.requests.at(-1) ?? {};
    expect([path, alone?.[0], alone?.[3]]).toEqual(['/', 'EVALSHA', 'cmp1:{b}:batch:tokenBucket:tb']);
    await Promise.all(Array.from({ length: 300 }, (_, i) => limiter.peek(`${i}`)));
    expect(Math.max(...bridge.requests.map(({ commands }) => commands.length))).toBe(128);
    await store.close();
  });

  test('scripts that the server has lost are sent again, once, within the call', async () => {
    const store = open();
    const limiter = createLimiter({
      policy: 'p',
      limits: slidingWindow({ limit: 9, window: '1h' }),
      store,
      timeoutMs: 2000,
    });
    await limiter.consume('a');
    await server.command('SCRIPT', 'FLUSH');
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume('a')));
    expect(decisions.filter(({ degraded }) => degraded !== undefined)).toEqual([]);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(8);
    await store.close();
  });

  test('a wrong token is a misconfiguration, told with no token in it', async () => {
    const store = open({ token: 'wrong-secret' });
    const limiter = createLimiter({ policy: 'p', limits: slidingWindow({ limit: 9, window: '1h' }), store });
    const { degraded } = await limiter.consume('a');
    expect(degraded).toMatchObject({ cause: 'misconfigured' });
    expect(degraded?.detail).not.toContain('wrong-secret');
    await expect(store.ping()).rejects.toMatchObject({ kind: 'misconfigured' });
    await store.close();
  });

  test('what the server complains of names no subject', async () => {
    await server.command('SET', 'cmp1:{ana@example.org}:p:slidingWindow:sw', 'text');
    const store = open();
    const limiter = createLimiter({
      policy: 'p',
      limits: slidingWindow({ limit: 9, window: '1h' }),
      store,
      timeoutMs: 2000,
    });
    const { degraded } = await limiter.consume('ana@example.org');
    expect(degraded?.detail).toMatch(/^WRONGTYPE/);
    await expect(store.bind({ policy: 'p', limits: [] }).reset('')).resolves.toBe(0);
    await store.close();
  });

  test.each<[BridgeFault, string]>([
    ['hang', 'timeout'],
    ['fail', 'unavailable'],
    ['limit', 'unavailable'],
    ['garbage', 'unavailable'],
    ['page', 'unavailable'],
    ['half', 'unavailable'],
    ['close', 'unavailable'],
  ])(
    'when the server answers with %s, decisions come in time, the breaker opens, and all is well afterwards',
    async (fault, cause) => {
      const store = open();
      const states: string[] = [];
      const limits = slidingWindow({ limit: 1000, window: '1h' });
      const limiter = createLimiter({
        policy: `fault-${fault}`,
        limits,
        store,
        timeoutMs: 100,
        onStoreFailure: 'open',
      });
      limiter.on('breaker', ({ state }) => states.push(state));
      await until(async () => (await limiter.consume('a')).degraded === undefined);
      bridge.fault = fault;
      const first = await timed(() => limiter.consume('a'));
      expect(first.value.degraded?.cause).toBe(cause);
      expect(first.ms).toBeLessThan(400);
      await until(async () => (await limiter.consume('a')).degraded?.cause === 'breaker-open');
      expect(states).toContain('open');
      expect(await quickestMs(() => limiter.consume('a'))).toBeLessThan(50);
      bridge.fault = undefined;
      const sinceMs = performance.now();
      await until(async () => (await limiter.consume('a')).degraded === undefined);
      expect(performance.now() - sinceMs).toBeLessThan(2000);
      await store.close();
    },
  );

  test('a refused client of @upstash/redis is told what to use', () => {
    const redis = new Redis({ url: bridge.url, token: bridge.token });
    expect(() => redisStore(redis as never)).toThrow(/upstashStore\(\{ url, token \}\)/);
  });
});

async function timed<T>(run: () => Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const startMs = performance.now();
  const value = await run();
  return { value, ms: performance.now() - startMs };
}

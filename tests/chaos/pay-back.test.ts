import { createLimiter, type Limiter, type LimiterOptions, type Store, slidingWindow, tokenBucket } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';

const LIMIT = 200;

let server: Server;
let store: Store;
beforeEach(async () => {
  server = await startServer();
  store = redisStore(server.url);
  await until(() => store.ping().then(() => true), { what: 'a connection' });
});
afterEach(async () => {
  await store.close();
  await server.stop();
});

function limiterOn(options: Partial<LimiterOptions> = {}): Limiter {
  return createLimiter({ policy: 'p', limits: slidingWindow({ limit: LIMIT, window: '10m' }), store, ...options });
}

/** Asks so often; the number that passed, and of these the number that the store did not decide. */
async function ask(limiter: Limiter, subject: string, times: number): Promise<{ passed: number; local: number }> {
  let [passed, local] = [0, 0];
  for (let i = 0; i < times; i++) {
    const { allowed, degraded } = await limiter.consume(subject);
    if (allowed) passed++;
    if (allowed && degraded !== undefined) local++;
  }
  return { passed, local };
}

const used = async (limiter: Limiter, subject: string): Promise<number> => {
  const { limits, degraded } = await limiter.peek(subject);
  return degraded === undefined ? LIMIT - (limits[0]?.remaining ?? 0) : -1;
};

async function recovered(limiter: Limiter): Promise<void> {
  const isBack = async () => (await limiter.consume('other')).degraded === undefined;
  await until(isBack, { what: 'an answer of the store' });
}

describe('after an outage', () => {
  test('every request that passed is charged exactly once, whoever let it pass', async () => {
    const limiter = limiterOn();
    const before = await ask(limiter, 's', 10);
    server.freeze();
    const during = await ask(limiter, 's', 50);
    server.thaw();
    await recovered(limiter);
    expect(during).toEqual({ passed: 50, local: 50 });
    const total = before.passed + during.passed;
    await until(async () => (await used(limiter, 's')) === total, { what: `${total} charges` });
    // Nothing more comes after.
    expect(await used(limiter, 's')).toBe(total);
    await limiter.close();
  });

  test('a server that lost its data is told what passed meanwhile', async () => {
    const limiter = limiterOn();
    await ask(limiter, 's', 10);
    await server.kill();
    const during = await ask(limiter, 's', 30);
    await server.start();
    await recovered(limiter);
    await until(async () => (await used(limiter, 's')) === during.passed, { what: 'the charges' });
    await limiter.close();
  });

  test('a refund made meanwhile is not charged', async () => {
    const limiter = limiterOn();
    await server.kill();
    const decisions = [];
    for (let i = 0; i < 10; i++) decisions.push(await limiter.consume('s'));
    for (const decision of decisions.slice(0, 4)) expect(await limiter.refund(decision)).toBe(true);
    await server.start();
    await recovered(limiter);
    await until(async () => (await used(limiter, 's')) === 6, { what: 'six charges' });
    await limiter.close();
  });

  test('a bucket that is asked all the time lets pass no more than without one', async () => {
    const limits = tokenBucket({ capacity: 100, refill: 100, every: '3s' });
    const limiter = limiterOn({ limits, hold: false });
    const startMs = performance.now();
    let passed = 0;
    const askUntil = async (endMs: number) => {
      for (; performance.now() < startMs + endMs; await sleep(1)) passed += (await ask(limiter, 's', 3)).passed;
    };
    await askUntil(500);
    server.freeze();
    await askUntil(3500);
    server.thaw();
    await askUntil(5500);
    const seconds = (performance.now() - startMs) / 1000;
    // Without what was refilled twice: one that was not asked for 3 s would let 100 more pass.
    expect(passed).toBeLessThanOrEqual(100 + (100 / 3) * seconds + 10);
    expect(passed).toBeGreaterThan(100 + (100 / 3) * seconds - 30);
    await limiter.close();
  });

  test('it can be switched off', async () => {
    const limiter = limiterOn({ payBack: false });
    const witness = limiterOn({ policy: 'witness' });
    await server.kill();
    await ask(limiter, 's', 10);
    await ask(witness, 's', 10);
    await server.start();
    await recovered(limiter);
    await recovered(witness);
    // By the time that the other's are charged, these would be.
    await until(async () => (await used(witness, 's')) === 10, { what: "the witness's charges" });
    expect(await used(limiter, 's')).toBe(0);
    await limiter.close();
    await witness.close();
  });

  test('it never makes a subject owe more than its limit', async () => {
    const limits = [tokenBucket({ capacity: 5, refill: 1, every: '1m' }), slidingWindow({ limit: 3, window: '10m' })];
    const limiter = limiterOn({ limits });
    await ask(limiter, 's', 2);
    server.freeze();
    const during = await ask(limiter, 's', 20);
    expect(during.passed).toBe(1);
    server.thaw();
    await recovered(limiter);
    const settled = async () => (await limiter.peek('s', { cost: 1 })).allowed === false;
    await until(settled, { what: 'the charges' });
    expect((await limiter.peek('s')).limits.map(({ remaining }) => remaining)).toEqual([2, 0]);
    await limiter.close();
  });
});

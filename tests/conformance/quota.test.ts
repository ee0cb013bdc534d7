import { type Clock, type Decision, type Limit, type Limiter, quota, type Store, tokenBucket } from 'comporta';
import { redisStore } from 'comporta/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { argumentsAt } from '../../packages/comporta/src/algorithms/algorithm.js';
import { compose, type Operation } from '../../packages/comporta/src/algorithms/compose.js';
import { systemClock } from '../../packages/comporta/src/core/time.js';
import { ask, limiterOn } from '../../packages/comporta/src/testing/store-limiters.js';
import { type FaultProxy, startProxy } from '../support/proxy.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { connected } from './exercise.js';

const HOUR_MS = 3_600_000;

/** A clock that goes wrong by some time, one way or the other. */
class WrongClock implements Clock {
  aheadMs: number;
  constructor(aheadMs: number) {
    this.aheadMs = aheadMs;
  }
  nowUs(): number {
    return systemClock.nowUs() + this.aheadMs * 1000;
  }
  startTimer(delayMs: number, run: () => void): () => void {
    return systemClock.startTimer(delayMs, run);
  }
}

const isoOf = (ms: number): string => new Date(ms).toISOString().slice(0, 19);

/** Days that begin half an hour ago, so that none ends during a test. */
const daily = (limit: number): Limit => quota({ limit, every: '1 day', from: isoOf(Date.now() - HOUR_MS / 2) });

const callsAbout = ({ seen }: FaultProxy, subject: string): number =>
  seen.filter(({ name, args }) => name === 'EVALSHA' && args.some((text) => text.includes(`{${subject}}`))).length;

/** When the period ends that a decision counted in, by the server's own time. */
const endOf = ({ atUs, binding }: Decision): number => Math.floor(atUs / 1000) + (binding?.resetAfterMs ?? Number.NaN);
const stopOf = (limit: Limit, { atUs }: Decision): number => argumentsAt(limit, Math.floor(atUs / 1000))[2] as number;

describe.each(installedKinds())('%s', (kind) => {
  let server: Server;
  let stores: Store[];
  beforeAll(async () => {
    server = await startServer({ kind });
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    await server.command('FLUSHALL');
    stores = [];
    return async () => void (await Promise.all(stores.map((store) => store.close())));
  });

  async function open(clock: Clock, url = `redis://127.0.0.1:${server.port}`): Promise<Store> {
    const store = redisStore(url, { clock });
    stores.push(store);
    expect(await connected(store, 'a', 5000)).toBe(true);
    return store;
  }

  test.each([
    ['an hour slow', -HOUR_MS],
    ['a day fast', 24 * HOUR_MS],
    ['a year slow', -365 * 24 * HOUR_MS],
    ['a year fast', 365 * 24 * HOUR_MS],
  ])('a caller whose clock is %s counts in the period of the server, for one repeat in all', async (_, aheadMs) => {
    const limit = daily(10);
    const exact = limiterOn(await open(systemClock), 'p', limit);
    const proxy = await startProxy(server);
    const wrong = limiterOn(await open(new WrongClock(aheadMs), proxy.url), 'p', limit);
    proxy.forget();
    for (const left of [8, 6, 4]) {
      const [ours, theirs] = [await ask(exact, 's'), await ask(wrong, 's')];
      expect(theirs.binding?.remaining).toBe(left);
      expect([endOf(ours), endOf(theirs)]).toEqual([stopOf(limit, ours), stopOf(limit, theirs)]);
    }
    expect(await wrong.refund(await ask(wrong, 's', 4))).toBe(true);
    expect((await exact.peek('s')).binding?.remaining).toBe(4);
    // Three consumes and one more, a refund, and one repeat.
    expect(callsAbout(proxy, 's')).toBe(3 + 1 + 1 + 1);
    await proxy.close();
  });

  test('a clock that is set while the process runs costs one more repeat and no count', async () => {
    const clock = new WrongClock(0);
    const limiter = limiterOn(await open(clock), 'p', daily(10));
    for (const [left, aheadMs] of [24 * HOUR_MS, -9 * HOUR_MS, 9000 * HOUR_MS, 0].entries()) {
      clock.aheadMs = aheadMs;
      expect((await ask(limiter, 's')).binding?.remaining).toBe(9 - left);
    }
  });

  test('an answer that comes too late still tells the time, and nothing is sent for who no longer waits', async () => {
    const proxy = await startProxy(server);
    const store = await open(new WrongClock(-365 * 24 * HOUR_MS), proxy.url);
    const limiter = limiterOn(store, 'p', daily(10));
    // Teaches the script, which would take a round trip of its own; another store does not know the time yet.
    await ask(limiter, 'taught');
    const late = await open(new WrongClock(-365 * 24 * HOUR_MS), proxy.url);
    const hurried = limiterOn(late, 'p', daily(10));
    proxy.faults.delayMs = 100;
    proxy.forget();
    expect(await hurried.consume('s', { timeoutMs: 50 })).toMatchObject({ degraded: { cause: 'timeout' } });
    // Answers come in order, so the late one is read before this.
    await late.ping();
    const decision = await ask(hurried, 's');
    expect(decision.binding?.remaining).toBe(9);
    expect(callsAbout(proxy, 's')).toBe(2);
    await proxy.close();
  });

  test('a period that ends while calls are in flight takes its limit, and so does the next', async () => {
    const endMs = Math.ceil(Date.now() / 1000) * 1000 + 1000;
    const limit = quota({ limit: 150, every: '1 day', from: isoOf(endMs) });
    const clocks = [0, -HOUR_MS, 3, -3, 400 * 24 * HOUR_MS].map((aheadMs) => new WrongClock(aheadMs));
    const limiters = await Promise.all(clocks.map(async (clock) => limiterOn(await open(clock), 'p', limit)));
    const decisions: Decision[] = [];
    const askOn = async (limiter: Limiter) => {
      for (let isOver = false; !isOver; ) {
        const answers = await Promise.all(Array.from({ length: 8 }, () => ask(limiter, 's')));
        decisions.push(...answers);
        isOver = answers.some(({ atUs, allowed }) => !allowed && atUs > endMs * 1000);
      }
    };
    await Promise.all(limiters.map(askOn));
    const admitted = decisions.filter(({ allowed }) => allowed);
    const isBefore = ({ atUs }: Decision) => atUs < endMs * 1000;
    expect([admitted.filter(isBefore).length, admitted.length]).toEqual([150, 300]);
    for (const decision of decisions) {
      expect(endOf(decision)).toBe(isBefore(decision) ? endMs : endMs + 24 * HOUR_MS);
    }
  });

  describe('arguments of another period', () => {
    const limits = [tokenBucket({ capacity: 9, refill: 1, every: '1h' }), daily(9)];
    /** Arguments between the cost and the limits' own, of each script that concerns limits. */
    const heads: Readonly<Record<Exclude<Operation, 'reset' | 'block' | 'setTerms'>, readonly string[]>> = {
      consume: [],
      consumeMany: [],
      peek: [],
      force: [],
      charge: [],
      reward: [],
      take: [],
      refund: ['0', '9'],
      reserve: ['id', '1000', '9'],
      settle: ['5', '0', '9', '9', ''],
      release: [],
      renew: [],
    };

    test.each(Object.entries(heads))('make %s answer the time alone and write nothing', async (operation, head) => {
      const redis = new Redis({ port: server.port, host: server.host });
      const { text } = compose(operation as Operation, limits);
      const keys = ['{s}a', '{s}b', '{s}c', '{s}d'];
      const send = (nowMs: number) =>
        redis.eval(text, 4, ...keys, '', '1', ...head, ...limits.flatMap((limit) => argumentsAt(limit, nowMs)), 1, 1);
      const [seconds] = (await redis.time()) as unknown as [string];
      for (const hours of [-1, 24, -9000, 9000]) {
        const reply = (await send((Number(seconds) + hours * 3600) * 1000)) as unknown[];
        expect(reply).toEqual([expect.any(Number)]);
        expect(Math.abs((reply[0] as number) / 1e6 - Number(seconds))).toBeLessThan(60);
        expect(await redis.exists(...keys)).toBe(0);
      }
      expect(await send(Number(seconds) * 1000)).not.toEqual([expect.any(Number)]);
      redis.disconnect();
    });
  });
});

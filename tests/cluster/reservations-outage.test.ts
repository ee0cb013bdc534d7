import { createLimiter, type Limiter, type LimiterOptions, type Reservation, type Store, StoreError } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { budgetOf } from '../support/budgets.js';
import { slotOf, startCluster } from '../support/cluster.js';
import { type Server, startServer } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';

const LIMIT = 100;
/** A call that finds the store frozen takes so long; long enough for a busy machine to answer in. */
const TIMEOUT_MS = 500;

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

const limiterOn = (options: Partial<LimiterOptions> = {}): Limiter =>
  createLimiter({
    policy: 'p',
    limits: budgetOf('slidingWindow', LIMIT),
    store,
    timeoutMs: TIMEOUT_MS,
    instances: options.onStoreFailure === undefined ? 1 : 'auto',
    ...options,
  });

/** What the store says was used; -1 when it does not say. */
async function used(limiter: Limiter, subject = 's'): Promise<number> {
  const { limits, degraded } = await limiter.peek(subject);
  return degraded === undefined ? LIMIT - (limits[0]?.remaining ?? 0) : -1;
}

const recovered = (limiter: Limiter): Promise<unknown> =>
  until(async () => (await limiter.consume('other')).degraded === undefined, { what: 'an answer of the store' });

/** Settles until the store can say what became of it. */
const settleAtLast = (limiter: Limiter, reservation: Reservation, cost: number): Promise<string> =>
  until(
    async () => {
      const { settled, reason } = await limiter.settle(reservation, cost);
      return reason === 'store-unavailable' ? undefined : settled ? 'settled' : reason;
    },
    { what: 'an answer of the store' },
  );

describe('a store that is away between the reservation and its settlement', () => {
  test('is asked again, and settles once, whether the first call reached it or not', async () => {
    const limiter = limiterOn();
    const [first, second] = [await limiter.reserve('s', { cost: 10 }), await limiter.reserve('s', { cost: 20 })];
    server.freeze();
    const lost = await limiter.settle(first, 3);
    expect([lost.settled, lost.reason, lost.limits]).toEqual([false, 'store-unavailable', []]);
    expect((await limiter.cancel(second)).reason).toBe('store-unavailable');
    server.thaw();
    await recovered(limiter);
    // The first call was sent before anybody knew, and the server does what it has received once it wakes.
    expect(['settled', 'already-settled']).toContain(await settleAtLast(limiter, first, 3));
    expect(await settleAtLast(limiter, second, 5)).toBe('settled');
    expect(await used(limiter)).toBe(8);
    expect(await settleAtLast(limiter, first, 9)).toBe('already-settled');
    expect(await used(limiter)).toBe(8);
    await limiter.close();
  });

  test('and that has lost its data knows of no reservation, and stays as it is', async () => {
    const limiter = limiterOn();
    const reservation = await limiter.reserve('s', { cost: 10 });
    await server.restart();
    await recovered(limiter);
    await limiter.consume('s', { cost: 4 });
    expect(await settleAtLast(limiter, reservation, 3)).toBe('expired');
    expect(await used(limiter)).toBe(4);
    await limiter.close();
  });

  test('is asked by charge and reward, which say so', async () => {
    const limiter = limiterOn();
    await server.kill();
    await expect(limiter.charge('s', 3)).rejects.toBeInstanceOf(StoreError);
    await expect(limiter.reward('s', 3)).rejects.toBeInstanceOf(StoreError);
    await limiter.close();
  });
});

describe('a reservation that was made while the store was away', () => {
  test('is settled here, less or more than reserved, and the store is told the real costs once', async () => {
    const limiter = limiterOn();
    await server.kill();
    await limiter.consume('warm');
    const made: Reservation[] = [];
    for (const cost of [10, 20, 30]) made.push(await limiter.reserve('s', { cost }));
    expect(made.map(({ allowed, degraded }) => [allowed, degraded?.mode])).toEqual(Array(3).fill([true, 'local']));
    const [less, more, none] = made.map((reservation) => JSON.parse(JSON.stringify(reservation))) as Reservation[];
    expect((await limiter.settle(less as Reservation, 4)).limits[0]?.remaining).toBe(46);
    expect((await limiter.settle(more as Reservation, 25)).limits[0]?.remaining).toBe(41);
    expect((await limiter.cancel(none as Reservation)).limits[0]?.remaining).toBe(71);
    expect((await limiter.settle(less as Reservation, 9)).reason).toBe('already-settled');
    await server.start();
    await recovered(limiter);
    await until(async () => (await used(limiter)) === 29, { what: 'the real costs' });
    expect((await limiter.settle(more as Reservation, 1)).reason).toBe('already-settled');
    await sleep(1000);
    expect(await used(limiter)).toBe(29);
    await limiter.close();
  });

  test('and that costs more than reserved after the store is back is paid too', async () => {
    const limiter = limiterOn();
    await server.kill();
    await limiter.consume('warm');
    const reservation = await limiter.reserve('s', { cost: 10 });
    await server.start();
    await recovered(limiter);
    await until(async () => (await used(limiter)) === 10, { what: 'the estimate' });
    expect((await limiter.settle(reservation, 15)).settled).toBe(true);
    // The next answer of the store starts the payment.
    await until(async () => (await used(limiter)) === 15, { what: 'the rest' });
    await limiter.close();
  });

  test('and that costs less, or that nobody settles, stays charged as estimated once the store is back', async () => {
    const limiter = limiterOn();
    await server.kill();
    await limiter.consume('warm');
    const [less] = [await limiter.reserve('s', { cost: 10 }), await limiter.reserve('s', { cost: 20, holdMs: 100 })];
    await server.start();
    await recovered(limiter);
    await until(async () => (await used(limiter)) === 30, { what: 'the estimates' });
    expect((await limiter.settle(less, 4)).settled).toBe(true);
    await limiter.cancel(await limiter.reserve('s'));
    expect(await used(limiter)).toBe(30);
    await limiter.close();
  });

  test('in mode open always passes, and settling it changes nothing', async () => {
    const limiter = limiterOn({ onStoreFailure: 'open' });
    await server.kill();
    const reservation = await limiter.reserve('s', { cost: 1000 });
    expect([reservation.allowed, reservation.degraded?.mode, reservation.limits]).toEqual([true, 'open', []]);
    expect(await limiter.settle(reservation, 7)).toEqual({ settled: true, reason: undefined, limits: [] });
    expect(await limiter.refund(reservation)).toBe(false);
    await server.start();
    await recovered(limiter);
    expect(await used(limiter)).toBe(0);
    await limiter.close();
  });

  test('in mode closed is refused, so that there is nothing to settle', async () => {
    const limiter = limiterOn({ onStoreFailure: 'closed' });
    await server.kill();
    const refused = await limiter.reserve('s', { cost: 1 });
    expect([refused.allowed, refused.reason]).toEqual([false, 'store-unavailable']);
    await expect(limiter.settle(refused, 1)).rejects.toMatchObject({ code: 'ERR_RESERVATION' });
    await limiter.close();
  });
});

test('a reservation outlives a failover: the new primary settles it, once', async () => {
  await using cluster = await startCluster();
  const shared = redisStore(cluster.url);
  const limiter = createLimiter({
    policy: 'p',
    limits: budgetOf('tokenBucket', LIMIT),
    store: shared,
    timeoutMs: TIMEOUT_MS,
    onStoreFailure: 'closed',
  });
  await until(async () => (await limiter.peek('s')).degraded === undefined, { what: 'a decision of the store' });
  const reservation = await limiter.reserve('s', { cost: 10 });
  const primary = await cluster.nodeForSlot(slotOf('{s}'));
  const replica = cluster.partnerOf(primary);
  const keysOf = async (node: Server) => Number(await node.command('DBSIZE'));
  await until(async () => (await keysOf(replica)) === (await keysOf(primary)), { what: 'the replica' });
  await primary.kill();
  expect((await limiter.settle(reservation, 4)).reason).toBe('store-unavailable');
  expect(await settleAtLast(limiter, reservation, 4)).toBe('settled');
  expect(await settleAtLast(limiter, reservation, 9)).toBe('already-settled');
  expect(await used(limiter)).toBe(4);
  await limiter.close();
  await shared.close();
});

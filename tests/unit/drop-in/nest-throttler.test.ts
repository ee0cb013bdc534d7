import { memoryStore } from 'comporta';
import { comportaStorage } from 'comporta/nest-throttler';
import { FakeClock, faultyStore } from 'comporta/testing';
import { expect, test } from 'vitest';

const TTL_MS = 60_000;

function started(given: Parameters<typeof comportaStorage>[0] = {}) {
  const clock = new FakeClock();
  const storage = comportaStorage({ clock, ...given });
  const hit = (key: string, { limit = 3, ttl = TTL_MS, block = 0, name = 'default' } = {}) =>
    storage.increment(key, ttl, limit, block, name);
  return { clock, storage, hit };
}

test('counts up to the limit, then says for how many seconds the key is blocked', async () => {
  const { clock, hit } = started();
  expect(await hit('a')).toEqual({ totalHits: 1, timeToExpire: 60, isBlocked: false, timeToBlockExpire: 0 });
  clock.advance(10_500);
  await hit('a');
  await hit('a');
  expect(await hit('a')).toEqual({ totalHits: 4, timeToExpire: 50, isBlocked: true, timeToBlockExpire: 50 });
  clock.advance(49_500);
  expect((await hit('a')).isBlocked, 'the first hit has left the window').toBe(false);
  expect((await hit('a')).isBlocked).toBe(true);
});

test('a block lasts exactly as long as it should, and asking again does not lengthen it', async () => {
  const { clock, hit } = started();
  const block = { block: 90_000 };
  for (let i = 0; i < 3; i++) expect((await hit('a', block)).isBlocked).toBe(false);
  expect(await hit('a', block)).toEqual({ totalHits: 4, timeToExpire: 90, isBlocked: true, timeToBlockExpire: 90 });
  clock.advance(60_000);
  expect(await hit('a', block)).toMatchObject({ isBlocked: true, timeToBlockExpire: 30 });
  clock.advance(29_999);
  expect(await hit('a', block)).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 });
  clock.advance(1);
  expect(await hit('a', block)).toMatchObject({ totalHits: 1, isBlocked: false });
});

test('after a block that is shorter than the window, the window still holds', async () => {
  const { clock, hit } = started();
  const block = { block: 5000 };
  for (let i = 0; i < 4; i++) await hit('a', block);
  clock.advance(5000);
  expect(await hit('a', block)).toMatchObject({ isBlocked: true, timeToBlockExpire: 5 });
  clock.advance(55_000);
  expect((await hit('a', block)).isBlocked).toBe(false);
});

test('throttlers of different names count by themselves, whatever their names are', async () => {
  const { hit } = started();
  const names = ['short', 'long', 'per minute', 'per.minute', 'x'.repeat(200), `${'x'.repeat(199)}y`];
  for (const name of names) expect((await hit('a', { name })).totalHits).toBe(1);
  for (const name of names) expect((await hit('a', { name })).totalHits).toBe(2);
});

test('a limit that differs between calls keeps what was used; 0 blocks, and no finite limit only counts', async () => {
  const { hit } = started();
  for (let i = 0; i < 3; i++) await hit('a');
  expect((await hit('a', { limit: 5 })).totalHits).toBe(4);
  expect((await hit('a', { limit: 2 })).isBlocked).toBe(true);
  expect(await hit('b', { limit: 0 })).toEqual({
    totalHits: 1,
    timeToExpire: 60,
    isBlocked: true,
    timeToBlockExpire: 60,
  });
  expect((await hit('c', { limit: Number.POSITIVE_INFINITY })).isBlocked).toBe(false);
});

test('processes share blocks as well as counts', async () => {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const [one, other] = [0, 1].map(() => started({ store, name: 'api', clock }));
  for (let i = 0; i < 4; i++) await one?.hit('a', { block: 90_000 });
  expect((await other?.hit('a', { block: 90_000 }))?.timeToBlockExpire).toBe(90);
});

test('a block outlives the store, in mode closed nothing is decided, and in mode open nothing is blocked', async () => {
  for (const [onStoreFailure, expected] of [
    ['local', true],
    ['open', false],
    ['closed', 503],
  ] as const) {
    const clock = new FakeClock();
    const faulty = faultyStore({ clock });
    const { hit, storage } = started({ store: faulty, name: 'api', clock, onStoreFailure });
    for (let i = 0; i < 4; i++) await hit('a', { block: 90_000 });
    faulty.down();
    const answer = await hit('a', { block: 90_000 }).then(
      ({ isBlocked }) => isBlocked,
      ({ statusCode }) => statusCode,
    );
    expect(answer, onStoreFailure).toBe(expected);
    await storage.onApplicationShutdown();
  }
});

test('numbers may be text, as an environment has them', async () => {
  const { clock, hit } = started();
  const text = { limit: '2', ttl: '60000', block: '90000' } as unknown as { limit: number };
  for (const isBlocked of [false, false, true]) expect(await hit('a', text)).toMatchObject({ isBlocked });
  clock.advance(89_999);
  expect(await hit('a', text)).toMatchObject({ totalHits: 3, isBlocked: true });
});

test.each([
  [{ limit: Number.NaN }, 'limit: expected a whole number'],
  [{ limit: -1 }, 'limit: expected a whole number'],
  [{ limit: 1.5 }, 'limit: expected a whole number'],
  [{ limit: '3 a minute' }, 'limit: expected a whole number'],
  [{ limit: null }, 'limit: expected a whole number'],
  [{ ttl: 0 }, 'ttl: expected a number of ms above 0'],
  [{ ttl: -1 }, 'ttl: expected a number of ms above 0'],
  [{ ttl: Number.NaN }, 'ttl: expected a number of ms above 0'],
  [{ block: -1 }, 'blockDuration: expected a number of ms above 0'],
  [{ block: Number.NaN }, 'blockDuration: expected a number of ms above 0'],
])('%j is refused, and nothing is let through', async (changed, message) => {
  const { hit } = started();
  await expect(hit('a', changed as { limit?: number })).rejects.toThrow(message);
});

test('a ttl that differs between calls takes nothing from the count of another', async () => {
  const { clock, hit } = started();
  for (let i = 0; i < 3; i++) await hit('a');
  clock.advance(500);
  await hit('a', { ttl: 100 });
  expect((await hit('a')).isBlocked).toBe(true);
});

import { expect, test } from 'vitest';
import { Presence } from '../../../packages/comporta/src/stores/presence.js';
import { redisStore } from '../../../packages/comporta/src/stores/redis.js';
import { flush } from '../../support/fake-clock.js';

/** A process that is answered now and then, by a server that counts so many. */
function started() {
  let [nowMs, processes, fails] = [1_000_000, 1, false];
  const beat = async (policies: readonly string[]) => {
    if (fails) throw new Error('no answer');
    return policies.map(() => ({ processes, rank: 0 }));
  };
  const presence = new Presence(beat, () => undefined).of('p');
  const touch = async (afterMs: number): Promise<number | undefined> => {
    nowMs += afterMs;
    presence.touch(nowMs);
    const { peers } = presence;
    await flush();
    return peers;
  };
  return {
    touch,
    pass: async (ms: number) => {
      let peers: number | undefined;
      for (let passed = 0; passed < ms; passed += 500) peers = await touch(500);
      return peers;
    },
    count: (more: number) => {
      processes = more;
    },
    fail: (is: boolean) => {
      fails = is;
    },
  };
}

test('how many processes there are is sure once all must have heard of this one', async () => {
  const { pass, count } = started();
  count(3);
  expect(await pass(6000)).toBeUndefined();
  expect(await pass(1500)).toBe(3);
  count(5);
  expect(await pass(2500)).toBe(5);
});

test('processes that are known to be there are never counted out, and more are counted', async () => {
  let counted = { processes: 1, rank: 0 };
  const workers = new Presence(
    async () => [counted],
    () => undefined,
    { processes: 4, rank: 2 },
  ).of('p');
  expect(workers.part).toEqual({ processes: 4, rank: 2 });
  workers.touch(1_000_000);
  await flush();
  expect(workers.part).toEqual({ processes: 4, rank: 2 });
  counted = { processes: 5, rank: 4 };
  workers.touch(1_003_000);
  await flush();
  expect(workers.part).toEqual(counted);
});

test.each([{ processes: 0, rank: 0 }, { processes: 2, rank: 2 }, { processes: 2 }, 4, null])(
  'a store refuses to be part %j',
  (part) => {
    const options = { part: part as unknown as { processes: number; rank: number } };
    expect(() => redisStore('redis://127.0.0.1:1', options)).toThrow(/part: expected \{ processes, rank \}/);
  },
);

test('it is not any more when nobody has said so for long', async () => {
  const { pass, touch, fail } = started();
  expect(await pass(8000)).toBe(1);
  fail(true);
  expect(await pass(2000)).toBe(1);
  expect(await pass(4000)).toBeUndefined();
  fail(false);
  expect(await pass(5000)).toBeUndefined();
  expect(await pass(4000)).toBe(1);
  // Idle: others counted it out meanwhile.
  expect(await touch(60_000)).toBeUndefined();
  expect(await pass(5000)).toBeUndefined();
});

test('a clock of the server that is set back makes it unsure', async () => {
  const { pass, touch } = started();
  expect(await pass(8000)).toBe(1);
  expect(await touch(-3_600_000)).toBeUndefined();
  expect(await pass(5000)).toBeUndefined();
  expect(await pass(3000)).toBe(1);
});

test('a count that falls is believed after ten seconds: one that was lost begins anew at one', async () => {
  const { pass, count } = started();
  count(3);
  expect(await pass(8000)).toBe(3);
  count(1);
  expect(await pass(8000)).toBe(3);
  expect(await pass(6000)).toBe(1);
  count(4);
  expect(await pass(2500)).toBe(4);
});

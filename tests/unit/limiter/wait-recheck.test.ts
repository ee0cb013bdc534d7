import { type Decision, type Limiter, memoryStore, type Reservation, slidingWindow } from 'comporta';
import { expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../../support/fake-clock.js';

interface Used {
  readonly decision: Decision;
  readonly reservation: Reservation;
}

/** A limit that is used up, and somebody who waits for a unit of it. */
async function setUp() {
  const clock = new FakeClock();
  const limits = slidingWindow({ limit: 2, window: '1h' });
  const plans = { large: slidingWindow({ limit: 3, window: '1h' }) };
  const options = { policy: 'api', store: memoryStore({ clock }), limits, plans, overrides: true } as const;
  const limiter = wire({ ...options, blocks: true }, clock);
  const used: Used = { decision: await limiter.consume('s'), reservation: await limiter.reserve('s') };
  const waited: boolean[] = [];
  const waiting = limiter.wait('s', { maxWaitMs: Number.POSITIVE_INFINITY });
  waiting.then(
    ({ allowed }) => waited.push(allowed),
    () => undefined,
  );
  await flush();
  expect(waited).toEqual([]);
  return { clock, limiter, used, waited };
}

const WAYS: Readonly<Record<string, (limiter: Limiter, used: Used) => Promise<unknown>>> = {
  refund: (limiter, { decision }) => limiter.refund(decision),
  'a settlement for less': (limiter, { reservation }) => limiter.settle(reservation, 0),
  cancel: (limiter, { reservation }) => limiter.cancel(reservation),
  reward: (limiter) => limiter.reward('s'),
  reset: (limiter) => limiter.reset('s'),
  'an override': (limiter) => limiter.setOverride('s', { plan: 'large' }, '1h'),
};

test.each(Object.entries(WAYS))('%s lets somebody in who waits, at once', async (_, giveBack) => {
  const { clock, limiter, used, waited } = await setUp();
  await giveBack(limiter, used);
  await flush();
  expect(waited).toEqual([true]);
  expect(clock.timers).toBe(0);
  await limiter.close();
});

test('a subject that is let in again need not wait for the end of its block', async () => {
  const { limiter, waited } = await setUp();
  await limiter.reset('s');
  await limiter.block('t', '1h');
  const waiting = limiter.wait('t', { maxWaitMs: Number.POSITIVE_INFINITY });
  await flush();
  await limiter.unblock('t');
  expect((await waiting).allowed).toBe(true);
  expect(waited).toEqual([true]);
  await limiter.close();
});

test('what gives back nothing asks nobody again', async () => {
  const { limiter, used, waited } = await setUp();
  await limiter.settle(used.reservation, 1);
  await limiter.settle(used.reservation, 0);
  await limiter.consume('another');
  await flush();
  expect(waited).toEqual([]);
  await limiter.close();
});

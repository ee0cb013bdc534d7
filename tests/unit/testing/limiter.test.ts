import { fixedWindow, tokenBucket } from 'comporta';
import { assertAdmits, assertRefuses, FakeClock, testLimiter } from 'comporta/testing';
import { expect, test } from 'vitest';

test('time passes by hand only', async () => {
  const { limiter, clock } = testLimiter({ limits: tokenBucket({ capacity: 2, refill: 1, every: '1m' }) });
  await assertAdmits(limiter, 'a', 2);
  const { retryAfterMs } = await assertRefuses(limiter, 'a', { retryAfterMs: 60_000 });
  clock.advance((retryAfterMs ?? 0) - 1);
  await assertRefuses(limiter, 'a', { retryAfterMs: 1 });
  clock.advance(1);
  await assertAdmits(limiter, 'a');
});

test('waits end by the same clock', async () => {
  const { limiter, clock } = testLimiter({ limits: tokenBucket({ capacity: 1, refill: 1, every: '1m' }) });
  await assertAdmits(limiter, 'a');
  const turn = limiter.wait('a', { maxWaitMs: 120_000 });
  await clock.pass(60_000);
  expect(await turn).toMatchObject({ allowed: true });
  expect(clock.timers).toBe(0);
});

test('a policy has a name if it is given one, and a clock of the test may stand where the test wants', async () => {
  const clock = new FakeClock(Date.UTC(2026, 11, 31, 23, 59, 59) * 1000);
  const made = testLimiter({ policy: 'api', limits: fixedWindow({ limit: 1, window: '1d' }), clock });
  expect([made.limiter.policy, made.clock]).toEqual(['api', clock]);
  await assertAdmits(made.limiter, 'a');
  await assertRefuses(made.limiter, 'a', { retryAfterMs: 1000 });
});

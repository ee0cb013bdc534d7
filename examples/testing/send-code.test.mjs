// Tests of code that asks a limiter: no Redis, and no waiting for real.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slidingWindow } from 'comporta';
import { assertAdmits, assertDegraded, assertRefuses, FakeClock, faultyStore, testLimiter } from 'comporta/testing';
import { sendCode } from './send-code.mjs';

const limits = slidingWindow({ limit: 5, window: '1h' });
const number = '+55 11 5555 0100';

test('the sixth code within an hour is not sent, and the user is told when', async () => {
  const { limiter, clock } = testLimiter({ limits });
  const sent = [];
  const ask = () => sendCode(limiter, number, (to) => sent.push(to));
  for (let i = 0; i < 5; i++) assert.equal(await ask(), 'sent');
  clock.advance(20 * 60_000);
  assert.equal(await ask(), 'again in 40 min');
  clock.advance(40 * 60_000);
  assert.equal(await ask(), 'sent');
  assert.equal(sent.length, 6);
});

test('the limit is what the policy says', async () => {
  const { limiter } = testLimiter({ limits });
  await assertAdmits(limiter, number, 5);
  await assertRefuses(limiter, number, { reason: 'limit-exceeded', retryAfterMs: 3_600_000 });
});

test('while the store hangs nothing is sent; when it is back, everything is', async () => {
  const clock = new FakeClock();
  const store = faultyStore({ clock });
  const { limiter } = testLimiter({ limits, store, clock, onStoreFailure: 'closed' });
  const ask = () => sendCode(limiter, number, () => undefined);
  store.freeze();
  const answer = ask();
  await clock.pass(50);
  assert.equal(await answer, 'not now');
  store.down();
  assertDegraded(await limiter.consume(number), { mode: 'closed', cause: 'unavailable', allowed: false });
  store.up();
  await clock.pass(1000);
  assert.equal(await ask(), 'sent');
});

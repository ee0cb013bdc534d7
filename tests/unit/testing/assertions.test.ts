import { tokenBucket } from 'comporta';
import {
  AssertionError,
  assertAdmits,
  assertDegraded,
  assertRefuses,
  faultyStore,
  testLimiter,
} from 'comporta/testing';
import { expect, test } from 'vitest';
import { assertRejects, assertSame } from '../../../packages/comporta/src/testing/assertion.js';

const limits = tokenBucket({ capacity: 3, refill: 1, every: '1s' });

test('assertAdmits charges as often as it is told, and names the request that was refused', async () => {
  const { limiter } = testLimiter({ limits });
  expect(await assertAdmits(limiter, 'a', 2)).toMatchObject({ allowed: true, limits: [{ remaining: 1 }] });
  const failure = assertAdmits(limiter, 'a', 2);
  await expect(failure).rejects.toThrow('expected request 2 of 2 to be admitted (test, "a": limit-exceeded)');
  await expect(failure).rejects.toMatchObject({ name: 'AssertionError', code: 'ERR_ASSERTION' });
  await expect(failure).rejects.toBeInstanceOf(AssertionError);
  await assertAdmits(limiter, 'b', 1, { cost: 3 });
  await assertRefuses(limiter, 'b');
});

test('assertRefuses compares what it is given, and fails on what is admitted', async () => {
  const { limiter } = testLimiter({ limits, policy: 'api' });
  await expect(assertRefuses(limiter, 'a')).rejects.toThrow('expected a refusal (api, "a": admitted, cost 1)');
  await assertAdmits(limiter, 'a', 2);
  await assertRefuses(limiter, 'a', { reason: 'limit-exceeded', retryAfterMs: 1000 });
  await assertRefuses(limiter, 'a', { reason: 'cost-exceeds-limit', retryAfterMs: null }, { cost: 4 });
  await expect(assertRefuses(limiter, 'a', { retryAfterMs: 999 })).rejects.toThrow(/retryAfterMs":999.*:1000/);
  await expect(assertRefuses(limiter, 'a', { reason: 'blocked' })).rejects.toThrow('blocked');
});

test('a decision without the store neither admits nor refuses', async () => {
  const store = faultyStore();
  const { limiter, clock } = testLimiter({ limits, store, onStoreFailure: 'open' });
  store.down();
  await expect(assertAdmits(limiter, 'a')).rejects.toThrow('expected a decision of the store');
  await expect(assertRefuses(limiter, 'a')).rejects.toThrow('unavailable: the store is down');
  store.up();
  await clock.pass(1000);
  await assertAdmits(limiter, 'a');
});

test('assertDegraded compares mode, cause and answer, and fails on decisions of the store', async () => {
  const store = faultyStore();
  const { limiter } = testLimiter({ limits, store, onStoreFailure: 'open' });
  store.down();
  const decision = await limiter.consume('a');
  expect(() => assertDegraded({ ...decision, degraded: undefined })).toThrow('the store made this decision');
  assertDegraded(decision);
  assertDegraded(decision, { mode: 'open', cause: 'unavailable', allowed: true });
  for (const wrong of [{ mode: 'local' }, { cause: 'timeout' }, { allowed: false }] as const) {
    expect(() => assertDegraded(decision, wrong)).toThrow(AssertionError);
  }
});

test.each([
  [1, 2],
  [null, undefined],
  [[1], [1, 2]],
  [[], {}],
  [{ a: 1 }, { a: 1, b: undefined }],
  [{ a: { b: [1] } }, { a: { b: [2] } }],
  ['a', ['a']],
])('%j and %j are not the same', (actual, expected) => {
  expect(() => assertSame(actual, expected)).toThrow(AssertionError);
  assertSame(actual, structuredClone(actual));
});

test('assertRejects wants an error of this package, with this code', async () => {
  const { limiter } = testLimiter({ limits });
  await assertRejects(limiter.consume(''), 'ERR_SUBJECT');
  await expect(assertRejects(limiter.consume(''), 'ERR_COST')).rejects.toThrow('expected ERR_COST, got ERR_SUBJECT');
  await expect(assertRejects(limiter.consume('a'), 'ERR_COST')).rejects.toThrow('got no error');
  await expect(assertRejects(Promise.reject(new Error('x')), 'ERR_COST')).rejects.toThrow('got Error: x');
});

import { concurrency, createLimiter, fixedWindow, memoryStore, tokenBucket } from 'comporta';
import { createGate } from 'comporta/http';
import { otelMetrics, type Watched } from 'comporta/telemetry';
import { faultyStore, testLimiter } from 'comporta/testing';
import { describe, expect, test } from 'vitest';
import { Fallbacks } from '../../../packages/comporta/src/telemetry/fallbacks.js';
import { record } from './otel-reader.js';

const ten = fixedWindow({ limit: 10, window: '1d' });

describe('a meter of OpenTelemetry gets', () => {
  test('each decision with its outcome, source and algorithm', async () => {
    const { meter, points } = record();
    const { limiter } = testLimiter({
      policy: 'api',
      limits: [ten, tokenBucket({ capacity: 2, refill: 1, every: '1h' })],
    });
    otelMetrics(meter, limiter);
    for (let i = 0; i < 3; i++) await limiter.consume('a');
    expect(await points('comporta.decisions')).toEqual({
      'algorithm=tokenBucket,outcome=allowed,policy=api,source=memory': 2,
      'algorithm=tokenBucket,outcome=denied,policy=api,source=memory': 1,
    });
    expect(await points('comporta.decision.duration')).toEqual({ 'policy=api,source=memory': 3 });
    expect(await points('comporta.cost')).toEqual({ 'policy=api': 2 });
    expect(await points('comporta.store.duration')).toEqual({});
  });

  test('no look, and each wait once', async () => {
    const { meter, points } = record();
    const { limiter, clock } = testLimiter({ limits: tokenBucket({ capacity: 1, refill: 1, every: '1s' }) });
    otelMetrics(meter, limiter);
    await limiter.peek('a');
    await limiter.consume('a', { cost: 0 });
    await limiter.consume('a');
    const waiting = limiter.wait('a');
    clock.advance(1000);
    expect((await waiting).allowed).toBe(true);
    expect((await limiter.wait('a', { maxWaitMs: 1 })).allowed).toBe(false);
    const { 'algorithm=tokenBucket,outcome=allowed,policy=test,source=memory': allowed, ...rest } =
      await points('comporta.decisions');
    expect([allowed, Object.values(rest)]).toEqual([2, [1]]);
    expect(await points('comporta.decision.duration')).toEqual({ 'policy=test,source=memory': 1 });
  });

  test('what nearly reached a limit, and what shadow mode would refuse', async () => {
    const { meter, points } = record();
    const { limiter } = testLimiter({ policy: 'api', limits: ten });
    otelMetrics(meter, limiter);
    for (let i = 0; i < 12; i++) await limiter.consume('a', { shadow: true });
    expect(await points('comporta.near_limit')).toEqual({ 'policy=api': 3 });
    expect(await points('comporta.would_refuse')).toEqual({ 'policy=api': 2 });
    expect(await points('comporta.quota.utilization')).toEqual({ 'policy=api': 12 });
    // The requests passed.
    expect(await points('comporta.decisions')).toEqual({
      'algorithm=fixedWindow,outcome=allowed,policy=api,source=memory': 12,
    });
  });

  test('parts that were taken, reservations and places', async () => {
    const { meter, points } = record();
    const { limiter } = testLimiter({ policy: 'api', limits: ten });
    const places = testLimiter({ policy: 'places', limits: concurrency({ limit: 1, lease: '10s' }) }).limiter;
    otelMetrics(meter, limiter, places);
    await limiter.consumeUpTo('a', 8);
    await limiter.consumeUpTo('a', 8);
    await limiter.reserve('b', { cost: 5 });
    await places.acquire('c');
    expect(await points('comporta.cost')).toEqual({ 'policy=api': 15, 'policy=places': 1 });
  });

  test('an outage: failures, the fallback, the breaker', async () => {
    const { meter, points } = record();
    const store = faultyStore();
    const settings = { limits: ten, store };
    const local = createLimiter({ policy: 'local', ...settings });
    const open = createLimiter({ policy: 'open', onStoreFailure: 'open', ...settings });
    const closed = createLimiter({ policy: 'closed', onStoreFailure: 'closed', ...settings });
    const all = [local, open, closed];
    otelMetrics(meter, ...all);
    for (const limiter of all) await limiter.consume('a');
    expect(Object.values(await points('comporta.fallback.active'))).toEqual([0, 0, 0]);
    store.down();
    for (let i = 0; i < 30; i++) for (const limiter of all) await limiter.consume('a');
    const decisions = await points('comporta.decisions');
    // What the store admitted counts on.
    expect(decisions).toMatchObject({
      'algorithm=fixedWindow,outcome=allowed,policy=local,source=redis': 1,
      'algorithm=fixedWindow,outcome=allowed,policy=local,source=local': 9,
      'algorithm=fixedWindow,outcome=denied,policy=local,source=local': 21,
      'algorithm=none,outcome=allowed,policy=open,source=failopen': 30,
      'algorithm=none,outcome=error,policy=closed,source=failclosed': 30,
    });
    expect(await points('comporta.fallback.active')).toEqual({ 'mode=local': 1, 'mode=open': 1, 'mode=closed': 1 });
    expect(await points('comporta.breaker.state')).toEqual({
      'node=faulty,state=closed': 0,
      'node=faulty,state=half_open': 0,
      'node=faulty,state=open': 1,
    });
    // Three limiters tell the same change.
    expect(await points('comporta.breaker.transitions')).toEqual({ 'from=closed,to=open': 1 });
    const { 'error.type=unavailable': errors = 0 } = await points('comporta.store.errors');
    expect(errors).toBeGreaterThan(0);
    const asked = await points('comporta.store.duration');
    // What the breaker spared the store is no call to it.
    expect(asked).toEqual({ 'store=redis': 3, 'error.type=unavailable,store=redis': errors });
    await Promise.all(all.map((limiter) => limiter.close()));
  });

  test('all policies of a gate', async () => {
    const { meter, points } = record();
    const gate = createGate({ policies: [{ name: 'all', key: () => 'x', limits: ten }], store: memoryStore() });
    otelMetrics(meter, gate);
    await gate.check({
      method: 'GET',
      url: '/',
      header: () => [],
      request: undefined,
      peerAddress: undefined,
      route: undefined,
    });
    expect(Object.values(await points('comporta.decisions'))).toEqual([1]);
    await gate.close();
  });

  test('names and units without suffixes', async () => {
    const { meter, names } = record();
    const { limiter } = testLimiter({ limits: ten });
    otelMetrics(meter, limiter);
    await limiter.consume('a');
    expect(await names()).toMatchObject({
      'comporta.decisions': '{decision}',
      'comporta.decision.duration': 's',
      'comporta.quota.utilization': '1',
      'comporta.fallback.active': '',
    });
  });
});

test('leases: what was used of them, what was not, and how far they may go', async () => {
  const { meter, points } = record();
  const store = faultyStore();
  const limits = tokenBucket({ capacity: 100, refill: 100, every: '1s' });
  const shared = { store, instances: 1, timeoutMs: 1000 };
  const limiter = createLimiter({ policy: 'p', limits, lease: { maxOvershoot: 4 }, ...shared });
  otelMetrics(meter, limiter);
  for (let i = 0; i < 6; i++) await limiter.consume('s');
  await limiter.close();
  expect(await points('comporta.lease.units')).toEqual({ 'policy=p,use=used': 3, 'policy=p,use=unused': 3 });
  expect(await points('comporta.lease.bound')).toEqual({ 'limit=tokenBucket,policy=p': 4 });
});

test('nobody is counted after the end, and who is not followed any more pays nothing', async () => {
  const { meter, points } = record();
  const { limiter } = testLimiter({ limits: ten });
  const recording = otelMetrics(meter);
  const unfollow = recording.follow(limiter);
  await limiter.consume('a');
  unfollow();
  await limiter.consume('a');
  recording.follow(limiter);
  recording.stop();
  await limiter.consume('a');
  expect(Object.values(await points('comporta.decisions'))).toEqual([1]);
});

test('what is no limiter is refused', () => {
  const { meter } = record();
  expect(() => otelMetrics(meter, {} as Watched)).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }));
});

test('a fallback is active until half a minute after its last decision', () => {
  let nowMs = 0;
  const fallbacks = new Fallbacks(() => nowMs);
  const active = (): number => {
    const values: number[] = [];
    fallbacks.observe({ observe: (value) => void values.push(value) });
    return values.filter((value) => value === 1).length;
  };
  expect(active()).toBe(0);
  fallbacks.decided({ mode: 'open', cause: 'aborted', detail: '' });
  expect(active()).toBe(0);
  fallbacks.decided({ mode: 'open', cause: 'timeout', detail: '' });
  nowMs = 30_000;
  expect(active()).toBe(1);
  nowMs = 30_001;
  expect(active()).toBe(0);
});

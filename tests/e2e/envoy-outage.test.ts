import { status } from '@grpc/grpc-js';
import { redisStore } from 'comporta/redis';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { makeFolder } from './cli-support.js';
import { configIn, of, startDoor } from './envoy-support.js';

const SHOP = `
domain: shop
descriptors:
  - { key: user, rate_limit: { requests_per_unit: 5, unit: day } }
  - { key: shadow, shadow_mode: true, rate_limit: { requests_per_unit: 5, unit: day } }
`;
const ENVOY_WAITS_MS = 20;
const REQUEST = { domain: 'shop', descriptors: of('user=a') };

let redis: Server;
beforeEach(async () => {
  redis = await startServer();
});
afterEach(() => redis.stop());

async function start(envoy: object, rest: object = {}) {
  const store = redisStore(redis.url);
  onTestFinished(() => store.close());
  await store.ready(5000);
  return startDoor(configIn(makeFolder(), [SHOP], envoy, { instances: 1, ...rest }), { store });
}

/** Answers come a tenth of a second before the deadline: a process that stands still for longer is too late. */
const timely = { retry: 2 };
const MODES = ['compatible', 'strict'];

describe.each(MODES)('without its store, in mode %s, a service that is', (mode) => {
  test('local goes on counting, and says so', async () => {
    const { ask, lines } = await start({ mode, onStoreFailure: 'local', timeout: '500ms' });
    for (let i = 0; i < 3; i++) await ask(REQUEST);
    await redis.kill();
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push(await ask(REQUEST));
    expect(answers.map(({ overall_code: code }) => code)).toEqual(['OK', 'OK', 'OVER_LIMIT', 'OVER_LIMIT']);
    for (const { dynamic_metadata: metadata } of answers) expect(metadata?.fields.degraded?.stringValue).toBe('local');
    expect(lines.filter((line) => line.includes('the store does not answer')).length).toBe(1);
    expect(lines.join()).toContain('rls.shop');
  });

  test('open lets pass, and says so', async () => {
    const { ask } = await start({ mode, onStoreFailure: 'open' });
    await redis.kill();
    for (let i = 0; i < 10; i++) {
      const { overall_code: code, dynamic_metadata: metadata, statuses } = await ask(REQUEST);
      expect([code, metadata?.fields.degraded?.stringValue]).toEqual(['OK', 'open']);
      expect(statuses[0]?.current_limit?.requests_per_unit).toBe(5);
    }
  });

  test('closed answers UNAVAILABLE, as long as some rule would have refused', async () => {
    const { ask } = await start({ mode, onStoreFailure: 'closed', timeout: '500ms' });
    expect((await ask(REQUEST)).overall_code).toBe('OK');
    await redis.kill();
    for (let i = 0; i < 10; i++) await expect(ask(REQUEST)).rejects.toMatchObject({ code: status.UNAVAILABLE });
    const shadow = await ask({ domain: 'shop', descriptors: of('shadow=a') });
    expect([shadow.overall_code, shadow.dynamic_metadata?.fields.degraded?.stringValue]).toEqual(['OK', 'closed']);
    await redis.start();
    await expect.poll(() => ask(REQUEST).then(() => 'back', String), { timeout: 5000 }).toBe('back');
  });

  test.each(['local', 'open', 'closed'])('%s and frozen answers before Envoy stops waiting', async (failure) => {
    const { ask } = await start({ mode, onStoreFailure: failure });
    for (let i = 0; i < 50; i++)
      await ask({ domain: 'shop', descriptors: of(`user=warm-${i}`) }).catch(() => undefined);
    await redis.freeze();
    const outcomes: string[] = [];
    const tookMs: number[] = [];
    for (let i = 0; i < 60; i++) {
      const startMs = performance.now();
      const answer = ask({ domain: 'shop', descriptors: of(`user=${i}`) }, { deadline: Date.now() + ENVOY_WAITS_MS });
      outcomes.push(
        await answer.then(
          ({ overall_code: code }) => code,
          ({ code }) => status[code] ?? '',
        ),
      );
      tookMs.push(performance.now() - startMs);
    }
    // Client and service share one process here, and the machine with others: a hiccup must not fail the test.
    const wanted = failure === 'closed' ? 'UNAVAILABLE' : 'OK';
    expect(outcomes.filter((outcome) => outcome === wanted).length).toBeGreaterThanOrEqual(30);
    expect(outcomes).not.toContain('UNKNOWN');
    // The breaker saw it: only the first few waited at all.
    expect(tookMs.sort((x, y) => x - y)[20]).toBeLessThan(10);
  });

  test('whose own time limit is longer than the caller’s answers in the caller’s', timely, async () => {
    const { ask } = await start({ mode, onStoreFailure: 'local', timeout: '1m' });
    await ask(REQUEST);
    await redis.freeze();
    const startMs = performance.now();
    const { dynamic_metadata: metadata } = await ask(REQUEST, { deadline: Date.now() + 800 });
    expect(metadata?.fields.degraded?.stringValue).toBe('local');
    expect(performance.now() - startMs).toBeGreaterThan(400);
  });

  test('refunding answers within the deadline too', timely, async () => {
    const { ask } = await start({ mode, onStoreFailure: 'local', timeout: '1m' });
    await ask(REQUEST);
    await redis.freeze();
    const refund = { domain: 'shop', descriptors: [{ ...of('user=a')[0], is_negative_hits: true }] };
    const { overall_code: code, dynamic_metadata: metadata } = await ask(refund, { deadline: Date.now() + 800 });
    expect(code).toBe('OK');
    expect(metadata?.fields.degraded?.stringValue).toBe('local');
  });
});

import { createLimiter, fixedWindow, type LimiterOptions } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callsOf } from '../cluster/stats.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';

const LIMIT = 300;
const TURNS = 10;
const AT_ONCE = 40;

describe.each(installedKinds())('%s forgets its scripts all the time', (kind) => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ kind });
  });
  afterAll(() => server?.stop());

  test.each([
    ['decisions that go together', { hold: false }],
    ['leases', { hold: false, lease: { maxOvershoot: 20, lasts: '1s' }, instances: 1 }],
    ['holds', {}],
  ] as [string, Partial<LimiterOptions>][])('%s: none fails, none is charged twice', async (name, options) => {
    const store = redisStore(server.url);
    await store.ready(5000);
    const limits = fixedWindow({ limit: LIMIT, window: '1d', align: 'first-hit' });
    const limiter = createLimiter({ policy: name.replaceAll(' ', '-'), limits, store, timeoutMs: 5000, ...options });
    let admitted = 0;
    for (let turn = 0; turn < TURNS; turn++) {
      const asked = Array.from({ length: AT_ONCE }, () => limiter.consume('hot'));
      await server.command('SCRIPT', 'FLUSH');
      for (const { allowed, degraded } of await Promise.all(asked)) {
        expect(degraded).toBeUndefined();
        if (allowed) admitted++;
      }
    }
    expect(admitted).toBe(LIMIT);
    expect((await limiter.peek('hot')).binding?.remaining).toBe(0);
    // What was taught is known: from then on nothing is sent whole.
    await limiter.consume('cold', { cost: LIMIT });
    const before = await callsOf([server], 'eval');
    await Promise.all(Array.from({ length: AT_ONCE }, () => limiter.consume('cold')));
    await Promise.all(Array.from({ length: AT_ONCE }, () => limiter.consume('cold')));
    expect((await callsOf([server], 'eval')) - before).toBeLessThanOrEqual(1);
    await limiter.close();
    await store.close();
  });
});

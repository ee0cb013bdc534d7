import { createLimiter, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { request } from 'undici';
import { expect, it } from 'vitest';
import { startServer } from '../support/servers.js';
import { gatewayFile, onCleanup, startGateway } from './gateway-support.js';
import { scrape } from './metrics-support.js';

const LIMIT = 10_000;
const ASKED = 100;

it('a server that stops gives back what it had fetched ahead', async () => {
  const redis = await startServer();
  onCleanup(() => redis.stop());
  const policy = {
    name: 'hot',
    limits: [{ slidingWindow: { limit: LIMIT, window: '1h' } }],
    lease: { maxOvershoot: '10%', lasts: '1s' },
    instances: 1,
  };
  const file = gatewayFile('echo', {}, { store: redis.url, api: { listen: '127.0.0.1:0' }, policies: [policy] });
  const { app, origin } = await startGateway(file);
  for (let i = 0; i < ASKED; i++) {
    const { statusCode, body } = await request(origin);
    await body.dump();
    expect(statusCode).toBe(200);
  }
  const [, text] = await scrape(app.api?.port);
  expect(text).toContain('comporta_lease_bound{limit="slidingWindow",policy="hot"} 1000');
  expect(text).toMatch(/comporta_lease_units_total\{policy="hot",use="used"\} [1-9]/);

  const store = redisStore(redis.url);
  onCleanup(() => store.close());
  const limits = slidingWindow({ limit: LIMIT, window: '1h' });
  const limiter = createLimiter({ policy: 'hot', limits, store, timeoutMs: 1000 });
  onCleanup(() => limiter.close());
  const used = async (): Promise<number> => LIMIT - ((await limiter.peek('ip=127.0.0.1')).binding?.remaining ?? 0);
  await store.ready();
  expect(await used()).toBeGreaterThan(ASKED);
  await app.stop();
  expect(await used()).toBe(ASKED);
});

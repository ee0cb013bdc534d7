import { createLimiter, memoryStore, slidingWindow } from 'comporta';
import { httpStore } from 'comporta/http-store';
import { serveStore } from 'comporta/store-server';
import { expect, test } from 'vitest';

const TOKEN = 'the-token-in-use-now';

test('a service counts each part of a split subject by its share, beside all others', async () => {
  const memory = memoryStore();
  const handle = serveStore(memory, { token: TOKEN });
  const store = httpStore('https://limits.example.org', {
    token: TOKEN,
    onWarning: () => undefined,
    fetch: async (url, init) => handle(new Request(url, init as RequestInit)),
  });
  const options = { policy: 'p', limits: slidingWindow({ limit: 103, window: '1h' }), store, timeoutMs: 1000 };
  const limiter = createLimiter({ ...options, onStoreFailure: 'closed', split: { parts: 4 } });
  const whole = createLimiter({ ...options, onStoreFailure: 'closed' });
  const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.consume('hot')));
  expect(decisions.filter(({ degraded }) => degraded !== undefined)).toEqual([]);
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(103);
  expect((await limiter.peek('hot')).limits[0]?.remaining).toBe(0);
  expect((await whole.peek('hot')).limits[0]?.remaining).toBe(103);
  await limiter.close();
  await store.close();
});

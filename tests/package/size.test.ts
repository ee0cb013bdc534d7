import { expect, test } from 'vitest';
import { BUDGETS, bundle } from '../../scripts/lib/bundle.mjs';

test.each(Object.entries(BUDGETS))('%s stays within its budget after gzip', async (_, { code, gzipBytes }) => {
  const bundled = await bundle(code);
  expect(bundled.gzipBytes).toBeLessThanOrEqual(gzipBytes);
  // A budget far above what is there would let much in unseen.
  expect(bundled.gzipBytes).toBeGreaterThan(0.9 * gzipBytes);
});

test('without Redis a bundle has none of its scripts, and with it all', async () => {
  const limiter = `export { createLimiter, tokenBucket } from 'comporta';`;
  const handler = `export { withRateLimit } from 'comporta/fetch';`;
  for (const code of [limiter, handler]) expect((await bundle(code)).text.includes('redis.call')).toBe(false);
  const { text } = await bundle(`${limiter} export { redisStore } from 'comporta/redis';`);
  expect(text.includes('redis.call')).toBe(true);
});

test('a bundle for Upstash has no client for connections in it', async () => {
  const { files, text } = await bundle(BUDGETS['fetch adapter, Upstash']?.code ?? '');
  const names = files.filter(({ bytes }) => bytes > 0).map(({ path }) => path.split('/dist/').at(-1));
  expect(names).toContain('redis/upstash.js');
  for (const name of ['redis/connect.js', 'redis/sentinel.js', 'redis/node-redis.js'])
    expect(names).not.toContain(name);
  expect(/['"]node:/.test(text)).toBe(false);
});

test('importing for its effects alone brings nothing', async () => {
  expect((await bundle(`import 'comporta'; import 'comporta/fetch'; import 'comporta/redis';`)).bytes).toBeLessThan(10);
});

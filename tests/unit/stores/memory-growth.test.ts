import { createLimiter, memoryStore, tokenBucket } from 'comporta';
import { expect, test } from 'vitest';
import { FakeClock } from '../../support/fake-clock.js';

test('a million and a half subjects that come and go leave nothing behind', () => {
  const clock = new FakeClock();
  const limits = tokenBucket({ capacity: 10, refill: 10, every: '1s' });
  const limiter = createLimiter({ policy: 'p', limits, store: memoryStore({ clock }) });
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 1_500_000; i++) {
    if (i % 1000 === 0) clock.advance(500);
    limiter.decide(`10.0.${i}`);
  }
  // Some 300 bytes for each, had they stayed.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(200e6);
}, 30_000);

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createLimiter, memoryStore, slidingWindow } from 'comporta';
import { expect, test } from 'vitest';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const limits = slidingWindow({ limit: 2, window: '1m' });
const plan = (policy: string) => ({ policy, limits: [{ ...limits, id: 'a' }] });

/** What is dropped is collected once the turn in which it was read is over. */
async function settledHeap(): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test('policies that nobody uses any more do not fill the memory of a store', async () => {
  const store = memoryStore();
  for (let i = 0; i < 5000; i++) store.bind(plan(`before-${i}`));
  const before = await settledHeap();
  for (let round = 0; round < 10; round++) {
    for (let i = 0; i < 2000; i++) store.bind(plan(`p-${round}-${i}`)).consume('a', 1);
    await settledHeap();
  }
  // More than a kilobyte for each, had they stayed.
  expect((await settledHeap()) - before).toBeLessThan(12e6);
  await store.close();
}, 60_000);

test('a policy that is in use keeps its counts, and shares them, however many others come', async () => {
  const store = memoryStore();
  const limiter = createLimiter({ policy: 'kept', limits: slidingWindow({ limit: 2, window: '1m', id: 'a' }), store });
  await limiter.consume('ana');
  for (let i = 0; i < 6000; i++) store.bind(plan(`other-${i}`));
  await settledHeap();
  const again = store.bind(plan('kept'));
  expect(await again.consume('ana', 1)).toMatchObject({ numbers: [0, 0, expect.any(Number), expect.any(Number)] });
  expect((await limiter.consume('ana')).allowed).toBe(false);
  await store.close();
});

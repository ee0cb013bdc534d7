import { memoryStore, type Store, slidingWindow } from 'comporta';
import { expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { standInStore } from '../../../packages/comporta/src/stores/memory.js';
import { FakeClock } from '../../support/fake-clock.js';

/** Uses the store for more subjects than it can hold; what it says then. */
async function fill(store: (onWarning: (text: string) => void) => Store, subjects: number): Promise<string[]> {
  const warnings: string[] = [];
  const limits = withIds([slidingWindow({ limit: 1, window: '1h' })]);
  const policy = store((text) => warnings.push(text)).bind({ policy: 'full', limits });
  for (let i = 0; i < subjects; i++) await policy.consume(`${i}`, 1);
  return warnings;
}

test('a memory store that is full says how to make room', async () => {
  const clock = new FakeClock();
  expect(await fill((onWarning) => memoryStore({ maxSubjects: 10, clock, onWarning }), 11)).toEqual([
    expect.stringMatching(/^the memory store is full: counts of 1 subjects .*memoryStore\(\) more maxSubjects/),
  ]);
});

test('the stand-in for a store says what follows, for its size cannot be set', async () => {
  const [warning, ...more] = await fill((onWarning) => standInStore(new FakeClock(), onWarning), 100_001);
  expect(more).toEqual([]);
  expect(warning).toMatch(/^the local stand-in for the store is full: .*start afresh$/);
});

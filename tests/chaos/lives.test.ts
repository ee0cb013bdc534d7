import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Ground, startGround } from './lives/ground.js';
import { live } from './lives/live.js';

/** `npm run lives` draws others, on clusters too. */
const SEEDS = [4, 12];

let ground: Ground;
beforeAll(async () => {
  ground = await startGround('single');
});
afterAll(() => ground.close());

test.each(SEEDS)('life %i: clients come through accidents and keep every promise', async (seed) => {
  const { story, slowestMs, faults } = await live(ground, seed);
  console.log(`${story.join(', ')}: back after ${slowestMs.toFixed(0)} ms`);
  expect(faults).toEqual([]);
});

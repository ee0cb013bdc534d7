import { memoryStore } from 'comporta';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wire } from '../../packages/comporta/src/limiter/create.js';
import { FakeClock } from '../support/fake-clock.js';
import { deployment, play, stepsOf, VERSIONS } from '../support/terms-model.js';

test('whatever revisions, plans and overrides there are, decisions are by the terms that a model says', async () => {
  const property = fc.asyncProperty(stepsOf(60), async (steps) => {
    const clock = new FakeClock();
    const store = memoryStore({ clock });
    const limiters = VERSIONS.map((version) => wire({ ...deployment(version), store }, clock));
    await play(steps, limiters, { subjectOf: (i) => `s${i}`, pass: async (ms) => clock.advance(ms) });
  });
  await fc.assert(property, { numRuns: 300 });
});

test('control: a model in which the newest revision gives way does not fit', async () => {
  const property = fc.asyncProperty(stepsOf(60), async (steps) => {
    const clock = new FakeClock();
    const store = memoryStore({ clock });
    const limiters = VERSIONS.map((version) => wire({ ...deployment(version), store }, clock));
    const model = { subjectOf: (i: number) => `s${i}`, pass: async (ms: number) => clock.advance(ms), isFaulty: true };
    await play(steps, limiters, model);
  });
  await expect(fc.assert(property, { numRuns: 300 })).rejects.toThrow();
});

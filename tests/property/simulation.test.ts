import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { flush } from '../support/fake-clock.js';
import { type Scenario, Simulation, type Step, scenario } from './simulation.js';

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(async () => {
  await flush();
  process.off('unhandledRejection', note);
});

/** Plays a scenario; a check that failed inside a callback is an unhandled rejection and fails it too. */
async function play({ mode, fates, steps }: Scenario): Promise<Simulation> {
  unhandled.length = 0;
  const simulation = new Simulation({ mode, fates });
  await simulation.play(steps);
  await flush();
  if (unhandled.length > 0) throw unhandled[0];
  return simulation;
}

test('whatever the network does, decisions come in time, say who made them, and the limit holds', async () => {
  const seen = { store: 0, local: 0, open: 0, closed: 0, denied: 0, refunded: 0, unheard: 0 };
  await fc.assert(
    fc.asyncProperty(scenario, async (given) => {
      const { pending, store } = await play(given);
      for (const { decision, isRefunded, asked } of pending) {
        seen[decision?.degraded?.mode ?? 'store']++;
        if (decision?.reason === 'limit-exceeded') seen.denied++;
        if (isRefunded) seen.refunded++;
        if (decision?.degraded !== undefined && asked?.reply !== undefined) seen.unheard++;
      }
      expect(store.asked.length).toBeLessThanOrEqual(given.steps.length);
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 3000) },
  );
  // Every sort of end took place, or the scenarios would prove little.
  for (const [sort, count] of Object.entries(seen)) expect(count, sort).toBeGreaterThan(100);
}, 90_000);

const step = (more: Partial<Step>): Step => ({
  action: 'consume',
  subject: 'a',
  cost: 1,
  timeoutMs: undefined,
  abortMs: undefined,
  back: 0,
  passMs: 0,
  ...more,
});

test('the limit of the store holds over charges that nobody heard of', async () => {
  const { store, pending } = await play({
    mode: 'local',
    fates: [{ end: 'hang done', sendMs: 0, replyMs: 0 }],
    steps: Array.from({ length: 8 }, () => step({ passMs: 60 })),
  });
  // 60 ms apart: three fit into each window of 200 ms, and the fourth finds the first still counting.
  expect(store.charges.length).toBe(6);
  expect(pending.every(({ decision }) => decision?.degraded?.cause === 'timeout')).toBe(true);
});

test('nothing is sent for a caller whose time is over', async () => {
  const { store } = await play({
    mode: 'open',
    fates: [{ end: 'answer', sendMs: 51, replyMs: 0 }],
    steps: [step({}), step({ timeoutMs: 10 }), step({ abortMs: 30 })],
  });
  expect(store.charges).toEqual([]);
});

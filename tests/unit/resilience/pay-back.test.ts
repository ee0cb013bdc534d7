import { slidingWindow } from 'comporta';
import { expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { PayBack } from '../../../packages/comporta/src/resilience/pay-back.js';
import { FakeClock } from '../../support/fake-clock.js';

const SUBJECTS_MAX = 10_000;

function open() {
  const clock = new FakeClock();
  const paid: string[] = [];
  const creditor = {
    isBack: () => true,
    pay: async (subject: string) => {
      paid.push(subject);
      return true;
    },
  };
  const plan = { policy: 'p', limits: withIds([slidingWindow({ limit: 10, window: '1m' })]) };
  const payBack = new PayBack(plan, clock, creditor);
  const record = (name: string, count: number): void => {
    for (let i = 0; i < count; i++) payBack.record(`${name}${i}`, 1, clock.nowUs(), `${name}${i}`);
  };
  return { clock, paid, payBack, record };
}

test('what no longer counts gives its place to what does', async () => {
  const { clock, paid, payBack, record } = open();
  record('old', SUBJECTS_MAX);
  clock.advance(60_000);
  record('new', SUBJECTS_MAX);
  payBack.start();
  await clock.pass(60_000);
  expect(paid.filter((subject) => subject.startsWith('old'))).toEqual([]);
  // The first few came before places were free.
  expect(paid.length).toBeGreaterThan(SUBJECTS_MAX / 2);
}, 60_000);

test('no more subjects are remembered than there are places', async () => {
  const { clock, paid, payBack, record } = open();
  record('one', SUBJECTS_MAX + 10);
  payBack.start();
  await clock.pass(50_000);
  expect(paid.length).toBe(SUBJECTS_MAX);
}, 60_000);

test('what is owed ages by the rules of the limit', () => {
  const { clock, payBack } = open();
  expect(payBack.owed('s')).toEqual([{ amount: 0, resetAfterMs: 0 }]);
  payBack.record('s', 3, clock.nowUs(), 'id');
  clock.advance(20_000);
  expect(payBack.owed('s')).toEqual([{ amount: 3, resetAfterMs: 40_000 }]);
  clock.advance(40_000);
  expect(payBack.owed('s')).toEqual([{ amount: 0, resetAfterMs: 0 }]);
});

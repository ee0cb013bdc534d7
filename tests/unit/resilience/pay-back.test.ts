import { slidingWindow } from 'comporta';
import { expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { PayBack } from '../../../packages/comporta/src/resilience/pay-back.js';
import { FakeClock } from '../../support/fake-clock.js';

const SUBJECTS_MAX = 10_000;

/** A store that takes so long for an answer, by how many it has given. */
function open(tookMs: (paid: number) => number = () => 0) {
  const clock = new FakeClock();
  const paid: string[] = [];
  const creditor = {
    isBack: () => true,
    pay: async (subject: string) => {
      const ms = tookMs(paid.push(subject) - 1);
      if (ms > 0) await new Promise<void>((resolve) => void clock.startTimer(ms, resolve));
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

test('a store that has just come back is asked for one at first, then for more together', async () => {
  const { clock, paid, payBack, record } = open(() => 5);
  record('s', 200);
  payBack.start();
  const steps = new Set<number>();
  for (let i = 0; i < 1000; i++) {
    await clock.pass(1);
    steps.add(paid.length);
  }
  expect([...steps]).toEqual([0, 1, 3, 7, 15, 31, 63, 95, 127, 159, 191, 200]);
});

test.each([
  ['near', 1],
  ['far', 30],
])('one that falls behind gets time, one that is %s loses none', async (_, wayMs) => {
  const lastedMs = async (behindMs: number): Promise<number> => {
    const { clock, paid, payBack, record } = open((count) => (count < 3 ? wayMs : wayMs + behindMs));
    record('s', 1000);
    payBack.start();
    let ms = 0;
    for (; paid.length < 1000; ms++) await clock.pass(1);
    return ms;
  };
  expect(await lastedMs(0)).toBeLessThan(200 + 36 * (wayMs + 30));
  expect(await lastedMs(10)).toBeGreaterThan(30 * 200);
});

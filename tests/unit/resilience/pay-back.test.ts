import { memoryStore, slidingWindow, tokenBucket } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withIds } from '../../../packages/comporta/src/algorithms/limits.js';
import { Ledger } from '../../../packages/comporta/src/resilience/ledger.js';
import { PayBack } from '../../../packages/comporta/src/resilience/pay-back.js';
import type { PolicyStore, StoreReply } from '../../../packages/comporta/src/stores/store.js';
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
  const payBack = new PayBack(new Ledger(plan, clock, () => ({ processes: 1, rank: 0 })), clock, creditor);
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

describe('of a bucket that was empty when the store went away', () => {
  const bucket = withIds([tokenBucket({ capacity: 100, refill: 10, every: '1s' })]);

  /** What all processes together owe after so long in which each let pass its part of what is refilled. */
  function owedAfter(seconds: number, processes: number): number {
    const clock = new FakeClock();
    const ledgers = Array.from({ length: processes }, (_, rank) => {
      return new Ledger({ policy: 'p', limits: bucket }, clock, () => ({ processes, rank }));
    });
    for (const ledger of ledgers) ledger.begin('s', [10_000]);
    for (let i = 0; i < seconds * 10; i++) {
      clock.advance(100);
      ledgers[i % processes]?.add('s', 1, clock.nowUs());
    }
    return ledgers.reduce((sum, ledger) => sum + (ledger.owed('s')[0]?.amount ?? 0), 0);
  }

  test.each([1, 2, 5])(
    '%d processes owe what the bucket was refilled with meanwhile, and no more than it holds',
    (n) => {
      expect(owedAfter(5, n)).toBe(50);
      expect(owedAfter(10, n)).toBe(100);
      expect(Math.abs(owedAfter(30, n) - 100)).toBeLessThanOrEqual(n);
    },
  );

  test('what is admitted after all was given back is owed for as long as what came before', () => {
    const clock = new FakeClock();
    const ledger = new Ledger({ policy: 'p', limits: bucket }, clock, () => ({ processes: 1, rank: 0 }));
    const creditor = { isBack: () => false, pay: async () => false };
    const payBack = new PayBack(ledger, clock, creditor);
    payBack.begin('s', [10_000]);
    payBack.record('s', 5, clock.nowUs(), 'first');
    payBack.forgive({ subject: 's', decisionId: 'first', atUs: clock.nowUs(), amount: 5 });
    // Each admission looks at what is owed of others and drops what is nothing.
    for (const other of ['a', 'b', 'c']) payBack.record(other, 1, clock.nowUs(), other);
    payBack.record('s', 5, clock.nowUs(), 'second');
    clock.advance(9000);
    expect(payBack.owed('s')[0]?.amount).toBe(5);
  });

  test('a charge that is given back is owed no longer', () => {
    const clock = new FakeClock();
    const ledger = new Ledger({ policy: 'p', limits: bucket }, clock, () => ({ processes: 1, rank: 0 }));
    ledger.begin('s', [10_000]);
    clock.advance(1000);
    ledger.add('s', 10, clock.nowUs());
    ledger.refund({ subject: 's', decisionId: 'id', atUs: clock.nowUs(), amount: 4 });
    expect(ledger.owed('s')[0]?.amount).toBe(6);
  });
});

test('with what is owed the store stands as if it had been asked all the time', () => {
  const limits = withIds([tokenBucket({ capacity: 20, refill: 3, every: '1s' })]);
  const step = fc.record({ afterMs: fc.nat(3000), cost: fc.nat(5) });
  fc.assert(
    fc.property(fc.array(step), fc.array(step), (before, during) => {
      const clock = new FakeClock();
      const open = () => memoryStore({ clock }).bind({ policy: 'p', limits });
      const [store, truth] = [open(), open()];
      const numbers = (of: PolicyStore) => (of.peek('s', 0) as StoreReply).numbers as [number, number, number, number];
      const ledger = new Ledger({ policy: 'p', limits }, clock, () => ({ processes: 1, rank: 0 }));
      for (const { afterMs, cost } of before) {
        clock.advance(afterMs);
        for (const one of [store, truth]) void one.consume('s', cost);
      }
      ledger.begin('s', [numbers(store)[2]]);
      for (const { afterMs, cost } of during) {
        clock.advance(afterMs);
        const { numbers: said } = truth.consume('s', cost) as StoreReply;
        if (said[1] === 0) ledger.add('s', cost, clock.nowUs());
      }
      void store.force?.('s', [ledger.owed('s')[0]?.amount ?? 0]);
      expect(Math.abs(numbers(store)[0] - numbers(truth)[0])).toBeLessThanOrEqual(1);
    }),
  );
});

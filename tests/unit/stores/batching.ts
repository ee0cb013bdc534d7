import { expect } from 'vitest';
import { nextTurn } from '../../../packages/comporta/src/core/time.js';
import type { StoreError, Waiter } from '../../../packages/comporta/src/core/waiting.js';
import { withDeadline } from '../../../packages/comporta/src/resilience/deadline.js';
import { Batcher } from '../../../packages/comporta/src/stores/batch.js';
import { FakeClock } from '../../support/fake-clock.js';

export const ITEMS_MAX = 5;

interface Call {
  readonly items: readonly string[];
  readonly waiter: Waiter;
  answer(outcomes?: readonly (string | StoreError)[]): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** A batcher whose calls are answered by hand. */
export function batching() {
  const calls: Call[] = [];
  const clock = new FakeClock();
  const send = (items: readonly string[], waiter: Waiter): Promise<readonly (string | StoreError)[]> =>
    new Promise((resolve, reject) => {
      const settled = async (settle: () => void): Promise<void> => {
        settle();
        await nextTurn();
        await nextTurn();
      };
      calls.push({
        items,
        waiter,
        answer: (outcomes = items.map((item) => `to ${item}`)) => settled(() => resolve(outcomes)),
        fail: (error) => settled(() => reject(error)),
      });
    });
  const carrier = {
    itemsMax: ITEMS_MAX,
    one: (item: string, waiter: Waiter) => send([item], waiter).then(([reply]) => reply as string),
    many: send,
  };
  const batcher = new Batcher<string, string>(carrier, undefined, () => clock.nowUs() / 1000);
  /** As the guard asks: the outcome, or the error that ended it. */
  const ask = (item: string, { lane = '', timeoutMs = 50 } = {}) => {
    const waiter: Waiter = { isOver: false, timeoutMs, isHeld: false, onOver: undefined };
    return withDeadline<string, string | StoreError>(batcher.ask(lane, item, waiter), {
      waiter,
      timeoutMs,
      signal: undefined,
      clock,
      onSettled: () => undefined,
      onValue: (value) => value,
      onError: (error) => error as StoreError,
    });
  };
  return { ask, calls, clock, itemsOf: () => calls.map(({ items }) => items.join()) };
}

export const range = (count: number): string[] => Array.from({ length: count }, (_, i) => `n${i}`);

/** One is in flight, so more must queue; the answer before it took so long. */
export async function begun(tookMs = 0) {
  const bench = batching();
  void bench.ask('first');
  await bench.clock.pass(tookMs);
  await bench.calls.splice(0)[0]?.answer();
  const asked = [bench.ask('in flight')];
  expect(bench.calls.splice(0)).toHaveLength(1);
  return { ...bench, asked };
}

/** Three more are in flight. */
export async function filled(tookMs = 0) {
  const bench = await begun(tookMs);
  for (const item of ['a', 'b', 'c']) {
    bench.asked.push(bench.ask(item));
    await nextTurn();
  }
  expect(bench.itemsOf()).toEqual(['a', 'b', 'c']);
  return bench;
}

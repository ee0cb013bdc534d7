import { type Store, slidingWindow } from 'comporta';
import { expect, test } from 'vitest';
import { nextTurn } from '../../../packages/comporta/src/core/time.js';
import type { Waiter } from '../../../packages/comporta/src/core/waiting.js';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { BREAKER_DEFAULTS } from '../../../packages/comporta/src/resilience/breaker.js';
import { Batcher } from '../../../packages/comporta/src/stores/batch.js';
import type { StoreReply } from '../../../packages/comporta/src/stores/store.js';
import { FakeClock } from '../../support/fake-clock.js';

const ANSWER: StoreReply = { atUs: 1, numbers: [5, 0, 0, 0] };
const TOGETHER = 30;

/** A limiter over one node that is sent several decisions in one call. */
function setUp() {
  const clock = new FakeClock();
  const node = { isSilent: true, calls: [] as number[] };
  const answer = <T>(items: number, reply: T): Promise<T> => {
    node.calls.push(items);
    return node.isSilent ? new Promise<never>(() => undefined) : Promise.resolve(reply);
  };
  const batcher = new Batcher<string, StoreReply>({
    itemsMax: TOGETHER,
    one: () => answer(1, ANSWER),
    many: (items) => answer(items.length, Array<StoreReply>(items.length).fill(ANSWER)),
  });
  const ask = (subject: string, _cost: number, waiter?: Waiter) => batcher.ask('', subject, waiter as Waiter);
  const nothing = () => Promise.resolve();
  const policy = { consume: ask, peek: ask, refund: async () => 0, reset: async () => 0, shardOf: () => 'node' };
  const store: Store = { kind: 'redis', bind: () => policy, ping: nothing, ready: nothing, close: nothing };
  const limits = slidingWindow({ limit: 5, window: '1s' });
  const limiter = wire({ policy: 'p', limits, store, onStoreFailure: 'open' }, clock);
  /** So many that go in one call, or are late in it. */
  const together = async (count: number, isSilent: boolean): Promise<void> => {
    node.isSilent = isSilent;
    const all = Array.from({ length: count }, () => limiter.consume('s'));
    await nextTurn();
    if (isSilent) await clock.pass(50);
    for (const decision of await Promise.all(all))
      expect(decision.degraded?.cause).toBe(isSilent ? 'timeout' : undefined);
  };
  const states: string[] = [];
  limiter.on('breaker', ({ state }) => states.push(state));
  return { node, together, states };
}

test('many decisions of one late call are no outage: three such calls in a row open the breaker', async () => {
  const { node, together, states } = setUp();
  await together(TOGETHER + 1, false);
  expect(node.calls.splice(0)).toEqual([1, TOGETHER]);
  for (let late = 1; late <= BREAKER_DEFAULTS.consecutiveFailures; late++) {
    expect(states).toEqual([]);
    await together(TOGETHER, true);
    expect(node.calls.splice(0)).toEqual([TOGETHER]);
  }
  expect(states).toEqual(['open']);
});

test('when all of three calls are late that many wait for, the breaker opens at once', async () => {
  const { node, together, states } = setUp();
  await together(1 + TOGETHER + TOGETHER / 2, true);
  expect(node.calls).toEqual([1, TOGETHER, TOGETHER / 2]);
  expect(states).toEqual(['open']);
});

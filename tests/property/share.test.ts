import { type Limit, limitKinds, slidingWindow, tokenBucket } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withIds } from '../../packages/comporta/src/algorithms/limits.js';
import { shareOf } from '../../packages/comporta/src/algorithms/share.js';
import { LocalShare } from '../../packages/comporta/src/resilience/local-share.js';
import { memoryStore } from '../../packages/comporta/src/stores/memory.js';
import type { StoreReply } from '../../packages/comporta/src/stores/store.js';
import { kinds, limitOf } from '../support/arbitraries.js';
import { FakeClock } from '../support/fake-clock.js';
import { isAllowed, MemoryBench, numbersOf } from '../support/memory-bench.js';

const count = fc.integer({ min: 1, max: 50 });

test('the shares of all processes are the whole, and differ by one at most', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), count, (whole, processes) => {
      const shares = Array.from({ length: processes }, (_, rank) => shareOf(whole, { processes, rank }, 0));
      expect(shares.reduce((a, b) => a + b)).toBe(whole);
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
    }),
  );
});

test('a share keeps a request possible, but never makes more of a limit than it is', () => {
  expect(shareOf(3, { processes: 10, rank: 9 }, 1)).toBe(1);
  expect(shareOf(10, { processes: 4, rank: 0 }, 7)).toBe(7);
  expect(shareOf(10, { processes: 4, rank: 0 }, 70)).toBe(10);
  expect(shareOf(0, { processes: 4, rank: 0 }, 1)).toBe(0);
});

const question = (cost: number) => ({ operation: 'consume', subject: 's', cost, id: 'x' }) as const;

/** Processes on one store, with the stores of their own that they have once it is away. */
class Fleet {
  readonly clock: FakeClock;
  readonly #store: ReturnType<ReturnType<typeof memoryStore>['bind']>;
  readonly #shares: readonly LocalShare[];

  constructor(limit: Limit, processes: number, clock: FakeClock = new FakeClock()) {
    this.clock = clock;
    const plan = { policy: 'p', limits: withIds([limit]) };
    this.#store = memoryStore({ clock }).bind(plan);
    this.#shares = Array.from({ length: processes }, (_, rank) => {
      return new LocalShare(plan, memoryStore({ clock }), {
        clock,
        partOf: () => ({ processes, rank }),
        remembers: true,
      });
    });
  }

  /** Asks the store. Every process then looks, as under even load each would soon hear of it. */
  ask(cost: number): boolean {
    const isAdmitted = isAllowed(this.#store.consume('s', cost) as StoreReply);
    for (const share of this.#shares) share.saw('s', this.#look());
    return isAdmitted;
  }

  /** What the store has left, and when it would be as if unused. */
  get stored(): ReturnType<typeof numbersOf> {
    return numbersOf(this.#look());
  }

  #look(): StoreReply {
    return this.#store.peek('s', 0) as StoreReply;
  }

  /** Whether a process lets a request pass without the store. */
  admitsAt(rank: number, cost: number): boolean {
    return isAllowed((this.#shares[rank] as LocalShare).decide(question(cost), undefined));
  }

  /** How many processes do. */
  admits(cost: number): number {
    return this.#shares.filter((_, rank) => this.admitsAt(rank, cost)).length;
  }

  /** All that they let pass of requests of cost 1. */
  exhaust(): number {
    let admitted = 0;
    for (let more = this.admits(1); more > 0; more = this.admits(1)) admitted += more;
    return admitted;
  }
}

const windows = (max: number): fc.Arbitrary<number> => fc.double({ min: 0, max, noNaN: true });

/** Uses of a limit: the part of a window that passes first, which process, what it asks for. */
const uses = fc.array(fc.record({ passed: windows(0.6), rank: fc.nat(5), cost: fc.integer({ min: 1, max: 5 }) }), {
  minLength: 1,
  maxLength: 15,
});
const processCount = fc.integer({ min: 1, max: 6 });

const partMs = (limit: Limit, passed: number): number => Math.floor(limit.windowMs * passed);

/** The same limit with more room. */
function widened(kind: string, { settings, limit }: Limit, more: number): Limit | undefined {
  const { params, build } = limitKinds[kind] as (typeof limitKinds)[string];
  const name = Object.keys(params)[0] as string;
  try {
    return build({ ...settings, [name]: limit + more });
  } catch {
    return undefined;
  }
}

describe.each(kinds)('%s', (kind) => {
  test('all processes together admit the limit at once, when it has enough for each', () => {
    fc.assert(
      fc.property(limitOf(kind), processCount, (limit, processes) => {
        fc.pre(limit.limit >= processes && limit.limit <= 200);
        expect(new Fleet(limit, processes).exhaust()).toBe(limit.limit);
      }),
      { numRuns: 200 },
    );
  });

  test('a state assumed from what was seen never admits what the real one would not, and is free as soon', () => {
    fc.assert(
      fc.property(limitOf(kind), uses, fc.array(windows(0.4), { maxLength: 12 }), (limit, history, later) => {
        const bench = new MemoryBench([limit]);
        for (const { passed, cost } of history) {
          bench.nowUs += partMs(limit, passed) * 1000 + cost;
          bench.decide('s', cost);
        }
        const seen = numbersOf(bench.decide('s', 0));
        bench.policy.assume('assumed', [seen]);
        const assumed = numbersOf(bench.decide('assumed', 0));
        expect(assumed.remaining).toBe(seen.remaining);
        for (const passed of later) {
          bench.nowUs += partMs(limit, passed) * 1000 + 7;
          const [real, ours] = [numbersOf(bench.decide('s', 0)), numbersOf(bench.decide('assumed', 0))];
          expect(ours.remaining).toBeLessThanOrEqual(real.remaining);
          // A part of a millisecond is a whole one when it is told.
          expect(ours.resetAfterMs).toBeLessThanOrEqual(real.resetAfterMs + 1);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('when the store goes the processes go on with what it had left, one each more or less', () => {
    fc.assert(
      fc.property(limitOf(kind), processCount, uses, (limit, processes, history) => {
        fc.pre(limit.limit <= 200);
        const fleet = new Fleet(limit, processes);
        for (const { passed, cost } of history) {
          fleet.clock.advance(partMs(limit, passed));
          fleet.ask(cost);
        }
        const { remaining } = fleet.stored;
        const admitted = fleet.exhaust();
        expect(admitted).toBeLessThanOrEqual(remaining + processes);
        expect(admitted).toBeGreaterThanOrEqual(remaining - processes);
      }),
      { numRuns: 300 },
    );
  });

  test('before and during an outage they admit no more than a limit with room for one each more', () => {
    let local = 0;
    fc.assert(
      fc.property(limitOf(kind), processCount, uses, uses, (limit, processes, before, during) => {
        const referee = widened(kind, limit, processes);
        fc.pre(referee !== undefined && limit.limit > 0 && limit.limit <= 200);
        const fleet = new Fleet(limit, processes);
        const bench = new MemoryBench([referee as Limit]);
        const admitted = (cost: number): boolean => isAllowed(bench.decide('s', cost));
        const pass = (passed: number): void => {
          fleet.clock.advance(partMs(limit, passed));
          bench.nowUs = fleet.clock.nowUs();
        };
        for (const { passed, cost } of before) {
          pass(passed);
          if (fleet.ask(cost)) expect(admitted(cost)).toBe(true);
        }
        for (const { passed, rank } of during) {
          pass(passed);
          for (let more = 3; more > 0 && fleet.admitsAt(rank % processes, 1); more--) {
            local++;
            expect(admitted(1)).toBe(true);
          }
        }
      }),
      { numRuns: 500 },
    );
    expect(local).toBeGreaterThan(200);
  });

  test('no process is locked out for longer than the limit itself would be used', () => {
    fc.assert(
      fc.property(limitOf(kind), processCount, uses, (limit, processes, history) => {
        fc.pre(limit.limit <= 200);
        const fleet = new Fleet(limit, processes);
        for (const { passed, cost } of history) {
          fleet.clock.advance(partMs(limit, passed));
          fleet.ask(cost);
        }
        fleet.clock.advance(fleet.stored.resetAfterMs);
        expect(fleet.exhaust()).toBe(new Fleet(limit, processes, fleet.clock).exhaust());
      }),
      { numRuns: 300 },
    );
  });
});

test('a bucket refills in shares too: together at its rate', () => {
  const fleet = new Fleet(tokenBucket({ capacity: 12, refill: 10, every: '1s' }), 4);
  expect(fleet.exhaust()).toBe(12);
  let admitted = 0;
  for (let i = 0; i < 1000; i++) {
    fleet.clock.advance(10);
    admitted += fleet.admits(1);
  }
  expect(admitted).toBeGreaterThanOrEqual(96);
  expect(admitted).toBeLessThanOrEqual(100);
});

test('a request above the share but within the limit passes while the share is unused', () => {
  const fleet = new Fleet(slidingWindow({ limit: 10, window: '1m' }), 5);
  expect(fleet.admits(7)).toBe(5);
  expect(fleet.admits(1)).toBe(0);
  expect(fleet.admits(11)).toBe(0);
});

test('a request above the share does not pass once any of the share was used before the outage', () => {
  const fleet = new Fleet(slidingWindow({ limit: 10, window: '1m' }), 5);
  fleet.ask(5);
  expect(fleet.admits(7)).toBe(0);
  expect(fleet.admits(1)).toBe(5);
});

import {
  fixedWindow,
  type Limit,
  type Limiter,
  quota,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import type { LeaseSettings } from '../../../packages/comporta/src/limiter/lease-rule.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { chanceOf, memoryOf, remoteStore } from './remote.js';

/** Several processes on one store, in a time of their own. */
interface Run {
  readonly limit: Limit | readonly Limit[];
  readonly lease?: LeaseSettings;
  readonly processes: number;
  /** What each takes for the number of them; the true one when left out. */
  readonly believed?: number;
  readonly seed: number;
  readonly lastsMs: number;
  /** Requests of one process in a millisecond. */
  readonly load: (process: number, ms: number, chance: () => number) => number;
  readonly cost?: number;
}

interface Outcome {
  /** Of every unit that was admitted: when, in µs, in order. */
  readonly admitted: readonly number[];
  /** Decisions that the store was not asked for. */
  readonly local: number;
}

async function simulate({ limit, lease, processes, believed, seed, lastsMs, load, cost = 1 }: Run): Promise<Outcome> {
  const [clock, chance] = [new FakeClock(), chanceOf(seed)];
  const memory = memoryOf(clock);
  const limiters = Array.from({ length: processes }, (): Limiter => {
    const store = remoteStore(memory, clock, {
      wayMs: () => Math.floor(chance() * 4),
      peers: () => believed ?? processes,
    });
    return wire(
      { policy: 'p', limits: limit, store, timeoutMs: 1000, onStoreFailure: 'closed', ...(lease && { lease }) },
      clock,
    );
  });
  const admitted: number[] = [];
  let local = 0;
  const count = (allowed: boolean): void => {
    for (let i = 0; allowed && i < cost; i++) admitted.push(clock.nowUs());
  };
  for (let ms = 0; ms < lastsMs; ms++) {
    limiters.forEach((limiter, process) => {
      for (let n = load(process, ms, chance); n > 0; n--) {
        const decision = limiter.decide('hot', { cost });
        if (decision instanceof Promise) void decision.then(({ allowed }) => count(allowed));
        else {
          local++;
          count(decision.allowed);
        }
      }
    });
    await clock.pass(1);
  }
  await clock.pass(50);
  await flush();
  await Promise.all([...limiters.map((limiter) => limiter.close()), clock.pass(50)]);
  return { admitted, local };
}

/** Most that was admitted in any window of that length. */
function mostIn(admitted: readonly number[], windowMs: number): number {
  let [most, first] = [0, 0];
  admitted.forEach((atUs, i) => {
    while ((admitted[first] as number) <= atUs - windowMs * 1000) first++;
    most = Math.max(most, i - first + 1);
  });
  return most;
}

/** Most that was admitted in any time beyond what a rate brings in it. */
function mostBeyond(admitted: readonly number[], perMs: number): number {
  let [most, least] = [0, Number.POSITIVE_INFINITY];
  admitted.forEach((atUs, i) => {
    const brought = (atUs / 1000) * perMs;
    least = Math.min(least, i - brought);
    most = Math.max(most, i + 1 - brought - least);
  });
  return most;
}

/** Most that was admitted in any one of the windows that begin at multiples of their length. */
function mostInOne(admitted: readonly number[], windowMs: number): number {
  const counts = new Map<number, number>();
  for (const atUs of admitted) {
    const window = Math.floor(atUs / 1000 / windowMs);
    counts.set(window, (counts.get(window) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}

const hammer: Run['load'] = () => 3;
/** Leases grow, lie for a while in which the limit recovers, and are then used with all the rest. */
const lateUse: Run['load'] = (process, ms) => {
  const at = ms % 700;
  if (at < 200) return (ms + process) % 5 < 2 ? 1 : 0;
  return at < 240 ? 0 : 3;
};
const onAndOff: Run['load'] = (process, ms, chance) =>
  Math.sin(ms / 37 + process) > 0.2 ? Math.floor(chance() * 6) : 0;
const loads = { hammer, lateUse, onAndOff };
const cases = Object.entries(loads).flatMap(([name, load]) => [1, 2].map((seed) => ({ name, load, seed })));

const LASTS_MS = 1500;
const lease: LeaseSettings = { maxOvershoot: '10%', lasts: 100 };
const PROCESSES = 4;
const common = { processes: PROCESSES, lease, lastsMs: LASTS_MS };

describe.each(cases)('$name, seed $seed', ({ load, seed }) => {
  const of = (limit: Run['limit'], more: Partial<Run> = {}) => simulate({ ...common, limit, load, seed, ...more });

  test('a token bucket goes beyond its rate and capacity by what it regains in a lease at most', async () => {
    const { admitted, local } = await of(tokenBucket({ capacity: 300, refill: 200, every: '1s' }));
    expect(mostBeyond(admitted, 0.2)).toBeLessThanOrEqual(300 + 20);
    expect(local).toBeGreaterThan(50);
  });

  test('a sliding window goes beyond its limit by all leases together at most', async () => {
    const { admitted, local } = await of(slidingWindow({ limit: 400, window: 500 }));
    expect(mostIn(admitted, 500)).toBeLessThanOrEqual(440);
    expect(local).toBeGreaterThan(50);
  });

  test('a strict one never does', async () => {
    const strict = { ...lease, strict: true };
    const { admitted, local } = await of(slidingWindow({ limit: 400, window: 500 }), { lease: strict });
    expect(mostIn(admitted, 500)).toBeLessThanOrEqual(400);
    expect(local).toBeGreaterThan(50);
  });

  test('neither do fixed windows and quotas', async () => {
    const fixed = await of(fixedWindow({ limit: 400, window: 500 }), { lease: { ...lease, strict: true } });
    expect(mostInOne(fixed.admitted, 500)).toBeLessThanOrEqual(400);
    expect(fixed.local).toBeGreaterThan(50);
    const hourly = await of(quota({ limit: 400, per: 'hour' }));
    expect(hourly.admitted.length).toBe(400);
  });

  test('costs above 1 keep the bound too', async () => {
    const { admitted, local } = await of(slidingWindow({ limit: 400, window: 500 }), { cost: 3 });
    expect(mostIn(admitted, 500)).toBeLessThanOrEqual(440);
    expect(local).toBeGreaterThan(20);
  });

  test('of several limits none goes beyond its own bound', async () => {
    const bucket = tokenBucket({ capacity: 200, refill: 600, every: '1s' });
    const { admitted, local } = await of([bucket, slidingWindow({ limit: 300, window: 500 })]);
    expect(mostBeyond(admitted, 0.6)).toBeLessThanOrEqual(200 + 20);
    expect(mostIn(admitted, 500)).toBeLessThanOrEqual(300 + 20);
    expect(local).toBeGreaterThan(50);
  });

  test('an estimated window goes beyond what it admits by all leases together at most', async () => {
    const { admitted } = await of(slidingWindowCounter({ limit: 400, window: 500 }));
    expect(mostIn(admitted, 500)).toBeLessThanOrEqual(2 * 400 - 1 + 40);
  });
});

describe('the simulation can fail', () => {
  const worst = async (run: Partial<Run>, of: (outcome: Outcome) => number): Promise<number> => {
    const limit = slidingWindow({ limit: 400, window: 500 });
    const outcomes = await Promise.all(
      cases.map(({ load, seed }) => simulate({ ...common, limit, load, seed, ...run })),
    );
    return Math.max(...outcomes.map(of));
  };
  const inWindow = ({ admitted }: Outcome): number => mostIn(admitted, 500);

  test('where a lease is strict in name only, the limit is exceeded', async () => {
    expect(await worst({}, inWindow)).toBeGreaterThan(400);
  });

  test('where each process believes to be the only one, the bound is exceeded', async () => {
    expect(await worst({ believed: 1 }, inWindow)).toBeGreaterThan(440);
  });

  test('so is that of a bucket', async () => {
    const limit = tokenBucket({ capacity: 300, refill: 4000, every: '1s' });
    const run = { ...common, limit, load: lateUse, seed: 1, processes: 8 };
    const [right, wrong] = await Promise.all([simulate(run), simulate({ ...run, believed: 1 })]);
    expect(mostBeyond(right.admitted, 4)).toBeLessThanOrEqual(330);
    expect(mostBeyond(wrong.admitted, 4)).toBeGreaterThan(330);
  });

  test('without leases nothing is decided here, and no limit is exceeded', async () => {
    const { lease: _, ...plain } = common;
    const run = { ...plain, limit: slidingWindow({ limit: 400, window: 500 }), load: hammer, seed: 1 };
    const { admitted, local } = await simulate(run);
    expect([mostIn(admitted, 500), local]).toEqual([400, 0]);
  });
});

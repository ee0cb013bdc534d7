import {
  concurrency,
  fixedWindow,
  type Limit,
  memoryStore,
  quota,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from 'comporta';
import { beforeEach, describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock } from '../../support/fake-clock.js';

/** Noon of a day in the middle of a month, so that no period of the calendar ends within a test. */
const NOON_US = Date.UTC(2026, 5, 17, 12) * 1000;

let clock = new FakeClock(NOON_US);
let store = memoryStore({ clock });
beforeEach(() => {
  clock = new FakeClock(NOON_US);
  store = memoryStore({ clock });
});

/** One policy with other limits: what a deployment finds. */
const deployed = (...limits: Limit[]) => wire({ policy: 'p', limits, store }, clock);
type Deployed = ReturnType<typeof deployed>;

const left = async (limiter: Deployed): Promise<number | undefined> => (await limiter.peek('s')).limits[0]?.remaining;

/** How many pass at once. */
async function passing(limiter: Deployed): Promise<number> {
  let passed = 0;
  while (passed < 1000 && (await limiter.consume('s')).allowed) passed++;
  return passed;
}

describe('another length of a window or a period', () => {
  const minuteToHour: [string, (window: string) => Limit][] = [
    ['fixedWindow', (window) => fixedWindow({ limit: 10, window })],
    ['fixedWindow from the first hit', (window) => fixedWindow({ limit: 10, window, align: 'first-hit' })],
    ['slidingWindowCounter', (window) => slidingWindowCounter({ limit: 10, window })],
    ['slidingWindow', (window) => slidingWindow({ limit: 10, window })],
  ];

  test.each(minuteToHour)('longer: %s keeps the use of the present one', async (_, make) => {
    clock.advance(5 * 60_000);
    await deployed(make('1m')).consume('s', { cost: 7 });
    clock.advance(50_000);
    expect(await left(deployed(make('1h')))).toBe(3);
  });

  test.each(minuteToHour)('shorter: %s keeps the use that is surely within it', async (_, make) => {
    await deployed(make('1h')).consume('s', { cost: 7 });
    clock.advance(50_000);
    expect(await left(deployed(make('1m')))).toBe(3);
  });

  test.each(minuteToHour)(
    'shorter: %s never passes more than the old and the new limit together',
    async (name, make) => {
      const old = deployed(make('1h'));
      await old.consume('s');
      clock.advance(5 * 60_000);
      const [before, after] = [await passing(old), await passing(deployed(make('1m')))];
      expect(before).toBe(9);
      // Only a log knows when each request came; counts say no more than in which window.
      expect(after).toBe(name === 'slidingWindow' ? 1 : 10);
    },
  );

  test('of a quota: longer keeps the use of the present period, shorter begins a new one', async () => {
    const of = (per: 'month' | 'year') => deployed(quota({ limit: 10, per }));
    await of('month').consume('s', { cost: 7 });
    expect(await left(of('year'))).toBe(3);
    await of('year').consume('t', { cost: 7 });
    expect((await of('month').peek('t')).limits).toMatchObject([{ remaining: 10 }]);
  });

  test('of a lease: shorter ends earlier what is held, longer holds what comes', async () => {
    const of = (lease: string) => deployed(concurrency({ limit: 1, lease }));
    await of('1h').consume('s');
    expect((await of('1m').peek('s')).retryAfterMs).toBe(60_000);
    await of('1m').reset('s');
    await of('1m').consume('s');
    expect((await of('1h').peek('s')).retryAfterMs).toBe(60_000);
  });
});

describe('another algorithm or id', () => {
  const log = slidingWindow({ limit: 10, window: '1m' });
  const bucket = tokenBucket({ capacity: 10, refill: 10, every: '1m' });

  test.each<[string, Limit]>([
    ['algorithm', bucket],
    ['id', slidingWindow({ limit: 10, window: '1m', id: 'other' })],
  ])('(%s) starts afresh: the old and the new limit together can pass', async (_, next) => {
    expect([await passing(deployed(log)), await passing(deployed(next))]).toEqual([10, 10]);
  });

  test('passes nothing twice when both apply for as long as the old one counts', async () => {
    expect(await passing(deployed(log))).toBe(10);
    const both = deployed(log, bucket);
    expect(await passing(both)).toBe(0);
    let passed = 0;
    for (let second = 0; second < 60; second++, clock.advance(1000)) passed += await passing(both);
    expect(passed).toBe(0);
    expect(await passing(both)).toBe(10);
    expect(await passing(deployed(bucket))).toBe(0);
  });

  test('back again finds what is still counted there', async () => {
    await deployed(log).consume('s', { cost: 7 });
    await deployed(bucket).consume('s', { cost: 2 });
    expect([await left(deployed(log)), await left(deployed(bucket))]).toEqual([3, 8]);
  });
});

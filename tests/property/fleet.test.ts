import { expect, test } from 'vitest';
import { excessOverRate, mostWithin, RateLedger } from '../../bench/simulation/bound.js';
import { chanceOf, zipfOf } from '../../bench/simulation/chance.js';
import { playHot } from '../../bench/simulation/hot.js';
import { playOutage } from '../../bench/simulation/outage.js';
import { playScale } from '../../bench/simulation/scale.js';
import { playSlow } from '../../bench/simulation/slow.js';
import { playSubjects } from '../../bench/simulation/subjects.js';

// `npm run bench simulate` plays the same with a thousand processes.

test('no subject is admitted beyond its limit, and the same chances come to the same', async () => {
  const settings = { seed: 3, processes: 50, subjects: 3000, exponent: 1.05, perSecond: 3000, seconds: 1 };
  const result = await playSubjects(settings);
  expect(result).toMatchObject({ excess: 0, degraded: 0, charged: result.admitted });
  expect(result.met).toBeGreaterThan(500);
  expect(result.held).toBeGreaterThan(0);
  expect(await playSubjects(settings)).toEqual(result);
  expect(await playSubjects({ ...settings, isPlain: true })).toMatchObject({ excess: 0, held: 0, calls: 1 });
});

test('on a cluster, too', async () => {
  const settings = { seed: 4, processes: 20, servers: 3, subjects: 1000, exponent: 1.05, perSecond: 2000, seconds: 1 };
  expect(await playSubjects(settings)).toMatchObject({ excess: 0, degraded: 0 });
});

test('leases of many processes stay within the bound that is told', async () => {
  const settings = { seed: 5, processes: 10, limit: 2000, seconds: 0.5, hasHold: true };
  for (const times of [0.95, 2]) {
    const { excess, bound, leased, degraded } = await playHot({ ...settings, times, lease: { maxOvershoot: '10%' } });
    expect({ degraded, bound }).toEqual({ degraded: 0, bound: 200 });
    expect(leased).toBeGreaterThan(0.02);
    expect(excess).toBeLessThanOrEqual(bound);
  }
  const lease = { maxOvershoot: '10%', strict: true };
  expect(await playHot({ ...settings, times: 2, lease, isWindow: true })).toMatchObject({ excess: 0, bound: 0 });
});

test('they do not when each takes itself for the only one', async () => {
  const lease = { maxOvershoot: '2%', lasts: '1s' };
  const settings = {
    seed: 5,
    processes: 10,
    limit: 2000,
    times: 1.2,
    seconds: 2,
    hasHold: true,
    isWindow: true,
    lease,
  };
  const { excess, bound } = await playHot({ ...settings, believed: 1 });
  expect(excess).toBeGreaterThan(bound);
});

test('they do so while processes come and go, who then know how many they are', async () => {
  const { moments, excess, bound } = await playScale({ seed: 6, few: 10, many: 30, limit: 300, times: 1.5 });
  expect(excess).toBeLessThanOrEqual(bound);
  expect(moments.at(-1)).toMatchObject({ processes: 10, counted: [10, 10], degraded: 0 });
  expect(moments.at(-1)?.shares).toBeCloseTo(1);
});

test('a server that keeps up with full calls only is not lost by sending single ones', async () => {
  const settings = { seed: 7, processes: 10, limit: 2000, times: 10, seconds: 0.5, hasHold: false, slowdown: 20 };
  const { decisions, degraded, calls } = await playHot(settings);
  expect(degraded / decisions).toBeLessThan(0.02);
  expect(calls).toBeLessThan(0.5);
});

test('a server that stands still costs each process a few time limits, and nobody more than one', async () => {
  const result = await playSlow({ seed: 10, processes: 10, perSecond: 1000, seconds: 2, frozenSeconds: 1 });
  expect(result.longestMs).toBeLessThanOrEqual(51);
  expect(result.byStore).toBeGreaterThan(0.25);
  expect(result.timeouts).toBeLessThan(0.15);
});

test.each(['silent', 'refusing'] as const)('while a server is %s all let pass what the limit does', async (outage) => {
  const result = await playOutage({ seed: 8, processes: 20, late: 0, outage, seconds: 2 });
  expect(result.counted).toEqual([20, 20]);
  expect(result.longestMs).toBeLessThanOrEqual(51);
  expect(result.noticedMs[1]).toBeLessThan(1000);
  const [large, , , open, closed] = result.before;
  const most = (large?.perSecond ?? 0) * result.outageSeconds;
  expect(large?.admitted).toBeGreaterThan(0.8 * most);
  expect(large?.admitted).toBeLessThan(1.1 * most);
  expect(open?.admitted).toBe(open?.asked);
  expect(closed?.admitted).toBe(0);
  expect(result.payBack.units).toBeGreaterThan(0);
  expect(result.payBack.queueMs).toBeLessThan(10);
  expect(result.degradedAfter.at(-1)).toBe(0);
});

test('a server that comes back is not lost again to what many processes owe it', async () => {
  const settings = { processes: 30, late: 0, outage: 'refusing', usersPerProcess: 20, slowdown: 50 } as const;
  const { degradedAfter, payBack } = await playOutage({ seed: 11, ...settings, seconds: 4 });
  expect(payBack.commands).toBeGreaterThan(1000);
  // All at once they would keep it down for as long as they owe anything.
  expect(degradedAfter.slice(2).every((part) => part < 0.02)).toBe(true);
});

test('the bounds notice a unit too many', () => {
  const rate = { capacity: 2, perSecond: 1 };
  const times = [0, 0, 1_000_000, 2_000_000];
  expect(excessOverRate(times, rate)).toBe(0);
  expect(excessOverRate([...times, 2_100_000], rate)).toBe(1);
  expect(mostWithin([0, 999, 1000], 1000)).toBe(2);
  const ledger = new RateLedger(1, rate);
  for (const atUs of [1_000_000, 1_000_000, 2_000_000, 2_000_000]) ledger.admit(1, atUs);
  expect(ledger).toMatchObject({ admitted: 4, subjects: 1, excess: 1 });
});

test('the first subjects come as often as their places say', () => {
  const draw = zipfOf(1000, 1.05, chanceOf(9));
  const counts = new Uint32Array(1001);
  for (let i = 0; i < 50_000; i++) {
    const k = draw();
    counts[k] = (counts[k] ?? 0) + 1;
  }
  const whole = Array.from({ length: 1000 }, (_, i) => (i + 1) ** -1.05).reduce((sum, part) => sum + part, 0);
  for (const k of [1, 2, 10]) expect((counts[k] ?? 0) / 50_000).toBeCloseTo(k ** -1.05 / whole, 2);
});

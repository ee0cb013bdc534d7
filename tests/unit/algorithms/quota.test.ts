import { createLimiter, type Limit, memoryStore, type QuotaSettings, quota } from 'comporta';
import { describe, expect, test, vi } from 'vitest';
import { argumentsAt } from '../../../packages/comporta/src/algorithms/algorithm.js';
import { FakeClock } from '../../support/fake-clock.js';
import { isAllowed, MemoryBench, numbersOf } from '../../support/memory-bench.js';
import { refusalOf } from '../../support/refusal.js';

const DAY_MS = 86_400_000;
const at = (iso: string): number => Date.parse(iso);
const benchAt = (limit: Limit, iso: string): MemoryBench => {
  const bench = new MemoryBench([limit]);
  bench.nowUs = at(iso) * 1000;
  return bench;
};
const remainingAt = (limit: Limit, iso: string): number => numbersOf(benchAt(limit, iso).policy.peek('s', 1)).remaining;

describe('what is refused', () => {
  const from = '2026-01-31';
  test.each<[field: string, settings: object, text: RegExp]>([
    ['per', { limit: 1 }, /give either per, or every with from/],
    ['every', { limit: 1, per: 'day', every: '1 day', from }, /give either per, or every with from/],
    ['from', { limit: 1, every: '1 month' }, /missing: every counts periods from it/],
    ['from', { limit: 1, per: 'month', from }, /goes with every, or with per and prorate: true/],
    ['prorate', { limit: 1, per: 'month', prorate: true }, /needs per and from/],
    ['prorate', { limit: 1, every: '1 month', from, prorate: true }, /needs per and from.*are all whole/],
    ['prorate', { limit: 1, per: 'month', from, prorate: 'yes' }, /expected true or false, got "yes"/],
    ['timeZone', { limit: 1, per: 'day', timeZone: 'Mars/Olympus' }, /expected an IANA time zone .*"Mars\/Olympus"/],
    ['timeZone', { limit: 1, per: 'day', timeZone: '+03:00' }, /expected an IANA time zone/],
    ['timeZone', { limit: 1, per: 'day', timeZone: '' }, /expected a text, got ""/],
    ['timeZone', { limit: 1, per: 'day', timeZone: 3 }, /expected a text, got 3/],
    ['per', { limit: 1, per: 'minute' }, /expected hour or day or week or month or quarter or year, got "minute"/],
    ...[
      'month',
      '0 days',
      '1.5 days',
      '-1 day',
      '3661 days',
      '521 weeks',
      '121 months',
      '11 years',
      '1d',
      '1  day',
    ].map((every): [string, object, RegExp] => [
      'every',
      { limit: 1, every, from },
      /expected a period such as "1 month"/,
    ]),
    ...[
      '2026-02-29',
      '2026-13-01',
      '31.01.2026',
      '2026-01-31T24:00',
      '2026-01-31T09:30Z',
      '1969-12-31',
      '3000-01-01',
    ].map((date): [string, object, RegExp] => [
      'from',
      { limit: 1, every: '1 day', from: date },
      /expected a date such as/,
    ]),
  ])('%s of %j', (field, settings, text) => {
    const refusal = refusalOf(() => quota(settings as QuotaSettings));
    expect(refusal).toMatchObject({ code: 'ERR_LIMIT', field });
    expect(refusal.text).toMatch(/^quota\./);
    expect(refusal.text).toMatch(text);
  });
});

describe('the nominal length of a period is the longest of the calendar', () => {
  test.each<[Omit<QuotaSettings, 'limit'>, days: number]>([
    [{ per: 'hour' }, 1 / 24],
    [{ per: 'day', timeZone: 'Europe/Lisbon' }, 1],
    [{ per: 'week' }, 7],
    [{ per: 'month' }, 31],
    [{ per: 'quarter' }, 92],
    [{ per: 'year' }, 366],
    [{ every: '10 days', from: '2026-01-01' }, 10],
    [{ every: '1 month', from: '2026-01-31' }, 31],
    [{ every: '2 months', from: '2026-01-31' }, 62],
    [{ every: '1 year', from: '2024-02-29' }, 366],
    [{ every: '10 years', from: '2024-02-29' }, 3653],
  ])('%j: %d days', (settings, days) => {
    expect(quota({ limit: 1, ...settings }).windowMs).toBe(days * DAY_MS);
  });
});

test('periods before a date reach back from it, so that a quota may begin in the future', () => {
  const limit = quota({ limit: 5, every: '1 month', from: '2030-01-31', timeZone: 'America/Sao_Paulo' });
  const [, start, stop] = argumentsAt(limit, at('2026-03-10T12:00:00Z'));
  expect([start, stop]).toEqual([at('2026-02-28T03:00:00Z'), at('2026-03-31T03:00:00Z')]);
});

describe('a pro-rated period', () => {
  const limit = quota({ limit: 1000, per: 'month', from: '2026-03-10', timeZone: 'Europe/Lisbon', prorate: true });

  test('has what is left of it of the limit, rounded up, and the others have all of it', () => {
    // 22 of 31 days, less the hour that Lisbon skips on 29 March: 527 of 743 hours.
    expect(remainingAt(limit, '2026-03-10T00:00:00Z')).toBe(Math.ceil((1000 * 527) / 743));
    expect(remainingAt(limit, '2026-03-01T00:00:00Z')).toBe(Math.ceil((1000 * 527) / 743));
    expect(remainingAt(limit, '2026-02-28T23:59:59Z')).toBe(1000);
    expect(remainingAt(limit, '2026-03-31T23:00:00Z')).toBe(1000);
    expect(limit.limit).toBe(1000);
  });

  test('that begins with its date is a whole one, and a limit of 1 stays 1', () => {
    const whole = quota({ limit: 7, per: 'month', from: '2026-03-01', prorate: true });
    expect(remainingAt(whole, '2026-03-15T00:00:00Z')).toBe(7);
    const last = quota({ limit: 1, per: 'year', from: '2026-12-31T23:59:59', prorate: true });
    expect(remainingAt(last, '2026-12-31T23:59:59Z')).toBe(1);
    const huge = quota({ limit: 1_000_000_000, per: 'year', from: '2026-07-02T12:00', prorate: true });
    expect(remainingAt(huge, '2026-12-01T00:00:00Z')).toBe(500_000_000);
  });

  test('a cost above its part waits for the first period with room for it, exactly', () => {
    for (const iso of ['2026-02-28T12:00:00Z', '2026-03-20T12:00:00Z']) {
      const bench = benchAt(limit, iso);
      bench.policy.consume('s', 200);
      const { retryAfterMs } = numbersOf(bench.policy.consume('s', 900));
      expect(bench.nowUs / 1000 + retryAfterMs).toBe(at('2026-03-31T23:00:00Z'));
    }
  });
});

test('processes that disagree about the zone during a deployment start afresh once, then share one count', () => {
  const [utc, sp] = [quota({ limit: 5, per: 'day' }), quota({ limit: 5, per: 'day', timeZone: 'America/Sao_Paulo' })];
  let state: unknown;
  let admitted = 0;
  for (let i = 0; i < 40; i++) {
    const now = at('2026-03-10T12:00:00Z') + i * 1000;
    const limit = [utc, sp][i % 2] as Limit;
    const evaluation = limit.algorithm.evaluate(state, now, 1, argumentsAt(limit, now));
    if (evaluation.retryAfterMs !== 0) continue;
    state = limit.algorithm.commit(evaluation.state, now, 1, argumentsAt(limit, now), 'holder');
    admitted++;
  }
  expect(admitted).toBe(1 + 5);
});

test('the rules of a zone are asked for once in a period, not by each request', () => {
  const limit = quota({ limit: 1_000_000, per: 'day', timeZone: 'America/New_York' });
  const bench = benchAt(limit, '2026-03-10T12:00:00Z');
  bench.policy.consume('s', 1);
  const format = vi.spyOn(Date, 'UTC');
  for (let i = 0; i < 1000; i++) bench.policy.consume(`${i}`, 1);
  expect(format).not.toHaveBeenCalled();
  bench.nowUs += DAY_MS * 1000;
  for (let i = 0; i < 1000; i++) bench.policy.consume(`${i}`, 1);
  expect(format).toHaveBeenCalled();
  expect(format.mock.calls.length).toBeLessThan(100);
  format.mockRestore();
});

test('a limiter counts per month of the zone on the clock of its store', async () => {
  const clock = new FakeClock(at('2026-02-28T23:00:00-03:00') * 1000);
  const limits = quota({ limit: 2, per: 'month', timeZone: 'America/Sao_Paulo' });
  const limiter = createLimiter({ policy: 'p', limits, store: memoryStore({ clock }) });
  await limiter.consume('s', { cost: 2 });
  expect(await limiter.consume('s')).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
  clock.advance(3_599_999);
  expect((await limiter.consume('s')).retryAfterMs).toBe(1);
  clock.advance(1);
  const { allowed, binding } = await limiter.consume('s');
  expect({ allowed, ...binding }).toMatchObject({ allowed: true, windowMs: 31 * DAY_MS, resetAfterMs: 31 * DAY_MS });
  await limiter.close();
});

test('a refund after the end of its period gives nothing back', () => {
  const bench = benchAt(quota({ limit: 5, per: 'hour' }), '2026-03-10T12:59:59Z');
  const { atUs } = bench.policy.consume('s', 5);
  bench.nowUs += 1_000_000;
  expect(isAllowed(bench.policy.consume('s', 1))).toBe(true);
  expect(bench.policy.refund({ subject: 's', decisionId: 'd', atUs, amount: 5 })).toBe(0);
  expect(numbersOf(bench.policy.peek('s', 1)).remaining).toBe(4);
});

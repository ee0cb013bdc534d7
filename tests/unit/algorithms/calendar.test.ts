import { readFileSync } from 'node:fs';
import { type QuotaSettings, quota } from 'comporta';
import { describe, expect, test } from 'vitest';
import { argumentsAt } from '../../../packages/comporta/src/algorithms/algorithm.js';

type Per = Exclude<QuotaSettings['per'], undefined>;

/** Boundaries in seconds by Python's zoneinfo; `periods.py` beside the file makes it. */
const table = JSON.parse(readFileSync(new URL('../../support/fixtures/periods.json', import.meta.url), 'utf8')) as {
  readonly zones: Readonly<Record<string, Readonly<Record<'hour' | 'day' | 'week' | 'month', readonly number[][]>>>>;
  readonly billing: readonly { zone: string; every: string; from: string; boundaries: readonly number[] }[];
};

/** The periods between consecutive boundaries that a quota sees otherwise; nothing means that all agree. */
function disagreements(settings: Omit<QuotaSettings, 'limit'>, boundaries: readonly number[]): string[] {
  const limit = quota({ limit: 1, ...settings });
  return boundaries.slice(1).flatMap((stop, i) => {
    const [startMs, stopMs] = [(boundaries[i] as number) * 1000, stop * 1000];
    const times = [startMs, Math.floor((startMs + stopMs) / 2), stopMs - 1];
    return times.flatMap((now) => {
      const [, start, end] = argumentsAt(limit, now);
      const isSame = start === startMs && end === stopMs;
      return isSame ? [] : [`${new Date(now).toISOString()}: ${start} to ${end}, expected ${startMs} to ${stopMs}`];
    });
  });
}

const everyNth = (list: readonly number[], n: number): number[] => list.filter((_, i) => i % n === 0);

describe.each(Object.entries(table.zones))('%s', (timeZone, { hour, day, week, month }) => {
  const lists: Readonly<Record<Per, readonly number[][]>> = {
    hour,
    day,
    week,
    month,
    quarter: month.map((list) => everyNth(list, 3)),
    year: month.map((list) => everyNth(list, 12)),
  };

  test.each(Object.entries(lists) as [Per, readonly number[][]][])('has each %s where Python has it', (per, all) => {
    for (const boundaries of all) expect(disagreements({ per, timeZone }, boundaries)).toEqual([]);
  });
});

test.each(table.billing)(
  'every $every from $from in $zone is where Python has it',
  ({ zone, every, from, boundaries }) => {
    expect(disagreements({ every, from, timeZone: zone }, boundaries)).toEqual([]);
  },
);

test('the table has what zones do to their clocks', () => {
  const days = (zone: string) =>
    (table.zones[zone]?.day ?? []).flatMap((list) => list.slice(1).map((at, i) => at - (list[i] as number)));
  const hours = [...new Set(Object.keys(table.zones).flatMap(days))].map((seconds) => seconds / 3600);
  expect(hours.toSorted((a, b) => a - b)).toEqual([22, 23, 23.5, 24, 24.5, 25, 26]);
  expect(table.zones['Asia/Kolkata']?.day).toEqual([]);
  expect(disagreements({ per: 'day' }, [0, 3600])).toHaveLength(3);
});

test('a billing date at the end of a month comes back after a shorter one', () => {
  const limit = quota({ limit: 1, every: '1 month', from: '2026-01-31' });
  const days: string[] = [];
  for (let at = Date.UTC(2026, 0, 31); days.length < 14; at = argumentsAt(limit, at)[2] as number) {
    days.push(new Date(at).toISOString().slice(5, 10));
  }
  expect(days.join(' ')).toBe('01-31 02-28 03-31 04-30 05-31 06-30 07-31 08-31 09-30 10-31 11-30 12-31 01-31 02-28');
});

test('midnights that clocks skip or show twice: the day starts with its first instant', () => {
  const startOf = (timeZone: string, now: string) =>
    new Date(argumentsAt(quota({ limit: 1, per: 'day', timeZone }), Date.parse(now))[1] as number).toISOString();
  expect(startOf('America/Sao_Paulo', '2018-11-04T12:00:00Z')).toBe('2018-11-04T03:00:00.000Z');
  expect(startOf('America/Havana', '2026-11-01T12:00:00Z')).toBe('2026-11-01T04:00:00.000Z');
  expect(startOf('Pacific/Apia', '2011-12-30T10:00:00Z')).toBe('2011-12-30T10:00:00.000Z');
  expect(startOf('Pacific/Apia', '2011-12-30T09:59:59.999Z')).toBe('2011-12-29T10:00:00.000Z');
});

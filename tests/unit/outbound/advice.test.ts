import { describe, expect, test } from 'vitest';
import { readAdvice } from '../../../packages/comporta/src/outbound/advice.js';

const NOW_MS = Date.parse('2026-11-30T12:00:00Z');
const epoch = (seconds: number): string => String(NOW_MS / 1000 + seconds);
const httpDate = (seconds: number): string => new Date(NOW_MS + seconds * 1000).toUTCString();
const read = (status: number, headers: Record<string, string>) => readAdvice(status, new Headers(headers), NOW_MS);

type Row = readonly [headers: Record<string, string>, waitMs: number | undefined];

describe('Retry-After of a refusal', () => {
  test.each<Row>([
    [{ 'retry-after': '30' }, 30_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after': '  7 ' }, 7000],
    [{ 'retry-after': '5, 30' }, 30_000],
    [{ 'retry-after': httpDate(90) }, 90_000],
    [{ 'retry-after': httpDate(-90) }, 0],
    [{ 'retry-after': 'Monday, 30-Nov-26 12:00:10 GMT' }, 10_000],
    [{ 'retry-after': '2026-11-30T12:00:05Z' }, 5000],
    // The third party's own clock counts, not ours.
    [{ 'retry-after': httpDate(3600 + 20), date: httpDate(3600) }, 20_000],
    [{ 'retry-after': httpDate(20), date: 'no date' }, 20_000],
    [{ 'retry-after-ms': '250', 'retry-after': '1' }, 250],
    [{ 'retry-after': '999999999999999' }, Number.MAX_SAFE_INTEGER],
    [{ 'retry-after': '9999999999999999' }, undefined],
    [{ 'retry-after': '-30' }, undefined],
    [{ 'retry-after': 'NaN' }, undefined],
    [{ 'retry-after': 'Infinity' }, undefined],
    [{ 'retry-after': '1e3' }, undefined],
    [{ 'retry-after': '0x10' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '30 seconds' }, undefined],
    [{ 'retry-after': 'Wed, 99 Foo 2026' }, undefined],
    // It wins over the other fields.
    [{ 'retry-after': '30', ratelimit: '"a";r=0;t=5' }, 30_000],
  ])('%j means %j ms', (headers, waitMs) => {
    for (const status of [429, 503]) expect(read(status, headers)).toEqual({ isRefusal: true, waitMs });
  });

  test('is no matter of rates on other answers', () => {
    for (const status of [200, 202, 301, 404, 500]) {
      expect(read(status, { 'retry-after': '30' })).toEqual({ isRefusal: false, waitMs: undefined });
    }
  });
});

describe('a quota that is used up', () => {
  test.each<Row>([
    [{ ratelimit: '"policy";r=0;t=30' }, 30_000],
    [{ ratelimit: '"a";r=0;t=5, "b";r=0;t=60, "c";r=9;t=3600' }, 60_000],
    [{ ratelimit: 'quota;r=0;t=2' }, 2000],
    [{ ratelimit: '"a;r=0,b";r=0;t=3' }, 3000],
    [{ ratelimit: '"a";t=3;r=0;pk=:YWJj:;x=?1' }, 3000],
    [{ ratelimit: '"a";r=0', 'ratelimit-policy': '"a";q=5;w=60, "b";q=5;w=3600' }, 60_000],
    [{ ratelimit: '"a";r=0' }, undefined],
    [{ ratelimit: '"a";r=0;t=-1' }, undefined],
    [{ ratelimit: '"a";r=0;t=1.5' }, undefined],
    [{ ratelimit: '"a";r=3;t=30' }, undefined],
    [{ ratelimit: '"a";r=-1;t=30' }, undefined],
    [{ ratelimit: '"a";t=30' }, undefined],
    [{ ratelimit: '"a";r=0;t=30,' }, undefined],
    [{ ratelimit: '"a";r=0;t="30"' }, undefined],
    [{ ratelimit: '"a";r=9999999999999999;t=30' }, undefined],
    [{ ratelimit: 'limit=100, remaining=0, reset=30' }, 30_000],
    [{ ratelimit: 'limit=100, remaining=50, reset=30' }, undefined],
    [{ ratelimit: 'limit=100, remaining=-1, reset=30' }, undefined],
    [{ 'ratelimit-remaining': '0', 'ratelimit-reset': '30' }, 30_000],
    [{ 'ratelimit-remaining': '0', 'ratelimit-reset': epoch(45) }, 45_000],
    [{ 'ratelimit-remaining': '0' }, undefined],
    [{ 'ratelimit-remaining': '1', 'ratelimit-reset': '30' }, undefined],
    [{ 'ratelimit-reset': '30' }, undefined],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' }, 30_000],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(600) }, 600_000],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(-600) }, 0],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(3600 + 5), date: httpDate(3600) }, 5000],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW_MS + 1234) }, 1234],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(2.5) }, 2500],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': httpDate(9) }, 9000],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${epoch(9)}000000` }, undefined],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '-30' }, undefined],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': 'NaN' }, undefined],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': '0.65', 'x-ratelimit-reset': epoch(9) }, 650],
    [{ 'x-ratelimit-remaining': '12, 0', 'x-ratelimit-reset': '5, 60' }, 60_000],
    [{ 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '30' }, undefined],
    [{ 'x-ratelimit-remaining': 'none', 'x-ratelimit-reset': '30' }, undefined],
    [{ 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': epoch(900) }, 900_000],
    // The standard's field wins over the older ones.
    [{ ratelimit: '"a";r=7;t=30', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' }, undefined],
    // A stored answer tells of somebody else's quota.
    [{ ratelimit: '"a";r=0;t=30', age: '12' }, undefined],
    [{ ratelimit: '"a";r=0;t=30', age: '0' }, 30_000],
    [{}, undefined],
  ])('%j means %j ms, on any answer', (headers, waitMs) => {
    expect(read(200, headers)).toEqual({ isRefusal: false, waitMs });
    expect(read(429, headers)).toEqual({ isRefusal: true, waitMs });
  });
});

test('a 403 is a refusal for the rate only when it says so', () => {
  expect(read(403, {})).toEqual({ isRefusal: false, waitMs: undefined });
  expect(read(403, { 'x-ratelimit-remaining': '7' })).toEqual({ isRefusal: false, waitMs: undefined });
  expect(read(403, { 'retry-after': '60' })).toEqual({ isRefusal: true, waitMs: 60_000 });
  const used = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(60) };
  expect(read(403, used)).toEqual({ isRefusal: true, waitMs: 60_000 });
});

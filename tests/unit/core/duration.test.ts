import { durationMs, formatDuration } from 'comporta';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../support/refusal.js';

describe('reading', () => {
  test.each<[number | string, number]>([
    [0, 0],
    [1500, 1500],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ['0s', 0],
    ['250ms', 250],
    ['10s', 10_000],
    ['1m', 60_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
    ['2w', 1_209_600_000],
    ['1h30m', 5_400_000],
    ['1m30s500ms', 90_500],
    ['1w1d1h1m1s1ms', 694_861_001],
    ['30m1h', 5_400_000],
    ['007s', 7000],
  ])('%j is %i ms', (given, ms) => {
    expect(durationMs(given, 'every')).toBe(ms);
  });

  test.each<[unknown, string]>([
    [-1, '-1'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [2 ** 53, '9007199254740992'],
    ['', '""'],
    ['10', '"10"'],
    ['10 s', '"10 s"'],
    [' 10s', '" 10s"'],
    ['10s\n', '"10s\\n"'],
    ['-5s', '"-5s"'],
    ['1.5h', '"1.5h"'],
    ['1 minute', '"1 minute"'],
    ['10S', '"10S"'],
    ['s', '"s"'],
    ['1e3s', '"1e3s"'],
    ['٣s', '"٣s"'],
    ['999999999999999w', '"999999999999999w"'],
    [null, 'null'],
    [undefined, 'undefined'],
    [true, 'true'],
    [10n, '10n'],
    [{}, 'an object'],
    [['10s'], 'a list'],
  ])('%#: what is no duration is refused, naming the field and what was given', (given, shown) => {
    const { code, field, text } = refusalOf(() => durationMs(given, 'limits[0].every'));
    expect({ code, field }).toEqual({ code: 'ERR_DURATION', field: 'limits[0].every' });
    expect(text).toMatch(/^limits\[0\]\.every: expected a duration/);
    expect(text.endsWith(`got ${shown}`)).toBe(true);
  });

  test('a long text is cut in the message', () => {
    const { text } = refusalOf(() => durationMs(`${'1s'.repeat(50_000)}!`, 'every'));
    expect(text.length).toBeLessThan(200);
  });
});

describe('writing', () => {
  test.each<[number, string]>([
    [0, '0ms'],
    [1, '1ms'],
    [999, '999ms'],
    [1000, '1s'],
    [1001, '1001ms'],
    [60_000, '1m'],
    [90_000, '90s'],
    [3_600_000, '1h'],
    [86_400_000, '1d'],
    [604_800_000, '1w'],
    [2_592_000_000, '30d'],
  ])('%i ms is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test('what is written reads back as the same length', () => {
    const unit = fc.constantFrom(1, 1000, 60_000, 3_600_000, 86_400_000, 604_800_000);
    const ms = fc.oneof(
      fc.nat({ max: 1e15 - 1 }),
      fc.tuple(fc.nat(10_000), unit).map(([n, length]) => n * length),
    );
    fc.assert(
      fc.property(ms, (given) => {
        expect(durationMs(formatDuration(given), 'x')).toBe(given);
      }),
      { numRuns: 500 },
    );
  });
});

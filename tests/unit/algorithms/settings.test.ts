import { type Limit, limitKinds, type Param, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { kinds } from '../../support/arbitraries.js';
import { refusalOf } from '../../support/refusal.js';

type Settings = Record<string, unknown>;

/** Settings of each kind that fit together at whatever end one of them stands. */
const GOOD: Readonly<Record<string, Settings>> = {
  tokenBucket: { capacity: 10, refill: 10, every: '1s' },
  slidingWindow: { limit: 10, window: '1s' },
  slidingWindowCounter: { limit: 10, window: '1s' },
  fixedWindow: { limit: 10, window: '1s', align: 'epoch' },
  quota: { limit: 10, per: 'hour' },
  concurrency: { limit: 10, lease: '1s' },
};

const paramsOf = (kind: string): Readonly<Record<string, Param>> => limitKinds[kind]?.params ?? {};
const build = (kind: string, settings: unknown): Limit =>
  (limitKinds[kind] as (typeof limitKinds)[string]).build(settings as Settings);
const refusal = (kind: string, change: Settings) => refusalOf(() => build(kind, { ...GOOD[kind], ...change }));

const params = kinds.flatMap((kind) => Object.entries(paramsOf(kind)).map(([name, param]) => ({ kind, name, param })));
const numbers = params.filter(({ param }) => param.kind === 'integer' || param.kind === 'duration');
const integers = params.filter(({ param }) => param.kind === 'integer');
const durations = params.filter(({ param }) => param.kind === 'duration');
const choices = params.filter(({ param }) => param.kind === 'choice');

test('every kind and every sort of setting takes part', () => {
  expect(Object.keys(GOOD).toSorted()).toEqual([...kinds].toSorted());
  expect([integers, durations, choices].map(({ length }) => length > 0)).toEqual([true, true, true]);
});

describe.each(numbers)('$kind.$name', ({ kind, name, param }) => {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = param;
  const range = `from ${min} to ${max}`;

  test('is required unless it has a default, and the message says what it is', () => {
    if (param.default !== undefined) return void build(kind, { ...GOOD[kind], [name]: undefined });
    const { code, field, text } = refusal(kind, { [name]: undefined });
    expect({ code, field }).toEqual({ code: 'ERR_LIMIT', field: name });
    expect(text).toBe(`${kind}.${name}: missing (${param.doc})`);
  });

  test.each([
    ['just below its range', min - 1],
    ['far below its range', -(2 ** 53) + 1],
    ['just above its range', max + 1],
    ['far above its range', Number.MAX_SAFE_INTEGER],
    ['not safe', 2 ** 53],
    ['not a number', Number.NaN],
    ['infinite', Number.POSITIVE_INFINITY],
    ['fractional', 1.5],
    ['a text without a unit', '10'],
    ['an empty text', ''],
    ['a truth value', true],
    ['a bigint', 10n],
    ['a list', [10]],
    ['an object', { value: 10 }],
    ['a function', () => 10],
  ])('is refused when it is %s', (_, value) => {
    const { code, field, text } = refusal(kind, { [name]: value });
    expect(field.endsWith(name)).toBe(true);
    expect(text.startsWith(`${kind}.${name}: expected `)).toBe(true);
    if (code === 'ERR_DURATION') expect(param.kind).toBe('duration');
    else expect({ code, range: text.includes(range) }).toEqual({ code: 'ERR_LIMIT', range: true });
  });
});

describe.each(integers)('$kind.$name', ({ kind, name, param }) => {
  test('takes both ends of its range', () => {
    // A bucket of the largest capacity fills in time only at a fitting rate.
    const fitting = kind === 'tokenBucket' ? { refill: 1_000_000_000, capacity: 1 } : {};
    for (const value of [param.min, param.max]) {
      const { settings } = build(kind, { ...GOOD[kind], ...fitting, [name]: value });
      expect(settings[name]).toBe(value);
    }
  });

  test.each(['10s', '1', '10.0'])('is refused as the text %j: a number is wanted', (value) => {
    expect(refusal(kind, { [name]: value }).code).toBe('ERR_LIMIT');
  });
});

describe.each(durations)('$kind.$name', ({ kind, name, param }) => {
  const small = kind === 'tokenBucket' ? { capacity: 1, refill: 1 } : { limit: 1 };

  test('takes both ends of its range, as a number and as a text', () => {
    for (const ms of [param.min, param.max] as const) {
      const asNumber = build(kind, { ...GOOD[kind], ...small, [name]: ms });
      const asText = build(kind, { ...GOOD[kind], ...small, [name]: `${ms}ms` });
      expect(asText.args).toEqual(asNumber.args);
      expect(asNumber.windowMs).toBe(ms);
    }
  });

  test.each(['0s', 0])('is refused as %j: no time is no window', (value) => {
    expect(refusal(kind, { [name]: value })).toMatchObject({ code: 'ERR_LIMIT', field: name });
  });
});

describe.each(choices)('$kind.$name', ({ kind, name, param }) => {
  test('takes each of its choices, and the first of them when left out, unless it may be missing', () => {
    const compiled = (param.choices ?? []).map((choice) => build(kind, { ...GOOD[kind], [name]: choice }).args);
    expect(new Set(compiled.map(String)).size).toBe(param.choices?.length);
    if (param.optional) return;
    expect(build(kind, { ...GOOD[kind], [name]: undefined }).args).toEqual(compiled[0]);
  });

  test.each(['', 'Epoch', 'first_hit', 0, 1, true, [], {}])('refuses %j and lists what it takes', (value) => {
    const { code, field, text } = refusal(kind, { [name]: value });
    expect({ code, field }).toEqual({ code: 'ERR_LIMIT', field: name });
    expect(text).toContain(`${kind}.${name}: expected ${param.choices?.join(' or ')}, got `);
  });
});

describe.each(kinds)('%s', (kind) => {
  test.each(['burst', 'Limit', 'windowMs', '', 'toString', 'constructor', 'hasOwnProperty'])(
    'refuses the unknown setting %j and lists those it takes',
    (name) => {
      const { code, field, text } = refusal(kind, { [name]: 1 });
      expect({ code, field }).toEqual({ code: 'ERR_LIMIT', field: name });
      expect(text).toBe(
        `${kind}: unknown setting ${JSON.stringify(name)}; it takes ${Object.keys(paramsOf(kind)).join(', ')}`,
      );
    },
  );

  test('refuses the unknown setting "__proto__" of a parsed file', () => {
    const settings = JSON.parse(JSON.stringify(GOOD[kind]).replace('{', '{"__proto__":1,')) as Settings;
    expect(refusalOf(() => build(kind, settings))).toMatchObject({ code: 'ERR_LIMIT', field: '__proto__' });
  });

  test.each([undefined, null, 10, 'limit', true])('refuses %j in place of settings', (settings) => {
    expect(refusalOf(() => build(kind, settings))).toMatchObject({ code: 'ERR_LIMIT', field: kind });
  });

  test('keeps the settings as they were written', () => {
    expect(build(kind, GOOD[kind]).settings).toEqual(GOOD[kind]);
  });
});

test.each(['', 'a b', 'a:b', 'a}b', 'é', 'x'.repeat(65), 1, null, {}])('the id %j is refused', (id) => {
  const settings = { ...GOOD.slidingWindow, id } as unknown as Parameters<typeof slidingWindow>[0];
  expect(refusalOf(() => slidingWindow(settings)).text).toContain('id: expected 1 to 64 characters');
});

test('an id is part of the limit and not of its settings', () => {
  const limit = tokenBucket({ capacity: 1, refill: 1, every: '1s', id: 'x'.repeat(64) });
  expect(limit.id).toBe('x'.repeat(64));
  expect(limit.settings).toEqual({ capacity: 1, refill: 1, every: '1s' });
});

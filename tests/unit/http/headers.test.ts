import { createLimiter, type Decision, fixedWindow, type LimitState, slidingWindow, tokenBucket } from 'comporta';
import fc from 'fast-check';
import { parseDictionary, parseList } from 'structured-headers';
import { expect, test } from 'vitest';
import { describeLimits } from '../../../packages/comporta/src/http/fields.js';
import { type Answer, createHeaderWriter, type HeaderForm } from '../../../packages/comporta/src/http/headers.js';
import { items } from './parse.js';

const state = (parts: Partial<LimitState> = {}): LimitState => ({
  id: 'slidingWindow',
  limit: 10,
  windowMs: 10_000,
  remaining: 4,
  retryAfterMs: 0,
  resetAfterMs: 9000,
  nextAfterMs: 900,
  ...parts,
});

const decisionOf = (policy: string, limits: readonly LimitState[], binding = limits[0]): Decision => ({
  allowed: limits.every(({ retryAfterMs }) => retryAfterMs === 0),
  reason: undefined,
  policy,
  subject: 's',
  cost: 1,
  id: 'id',
  atUs: 1_700_000_000_400_000,
  limits,
  binding,
  retryAfterMs: binding?.retryAfterMs ?? null,
  degraded: undefined,
});

const short = slidingWindow({ limit: 10, window: '10s' });
const daily = fixedWindow({ limit: 1000, window: '1d' });

function answer(policy: string, states: readonly LimitState[], limits = [short]): Answer {
  return {
    fields: describeLimits(policy, createLimiter({ policy, limits }).limits),
    decision: decisionOf(policy, states),
  };
}

const write = (headers: HeaderForm | readonly HeaderForm[], answers: readonly Answer[]): Record<string, string> =>
  Object.fromEntries(createHeaderWriter(headers)(answers));

test('the default form lists every limit of every policy once, by name', () => {
  const one = answer('per-client', [state()]);
  const two = answer(
    'tenant',
    [state({ remaining: 3 }), state({ remaining: 640, nextAfterMs: 51_233_001 })],
    [short, daily],
  );
  const fields = write('draft-11', [one, two]);
  expect(Object.keys(fields)).toEqual(['ratelimit-policy', 'ratelimit']);
  expect(fields['ratelimit-policy']).toBe(
    '"per-client";q=10;w=10, "tenant.slidingWindow";q=10;w=10, "tenant.fixedWindow";q=1000;w=86400',
  );
  expect(fields.ratelimit).toBe(
    '"per-client";r=4;t=1, "tenant.slidingWindow";r=3;t=1, "tenant.fixedWindow";r=640;t=55296',
  );
});

test('a window over a minute is advertised at the pace at which it can be used evenly', () => {
  const t = (window: string, remaining: number, more: Partial<LimitState> = {}) => {
    const states = [state({ remaining, nextAfterMs: 1000, ...more })];
    return items(write('draft-11', [answer('p', states, [slidingWindow({ limit: 100, window })])]).ratelimit).p?.t;
  };
  expect(t('1h', 50)).toBe(1800);
  expect(t('1m', 50)).toBe(1);
  expect(t('1h', 0)).toBe(1);
  expect(t('1h', 50, { retryAfterMs: 5000, nextAfterMs: 4001 })).toBe(5);
});

test('an unused limit has its whole window ahead', () => {
  const full = state({ remaining: 10, nextAfterMs: 0, resetAfterMs: 0 });
  expect(write('draft-11', [answer('p', [full])]).ratelimit).toBe('"p";r=10;t=10');
});

test('a policy that nobody counted keeps its name but advertises no quota', () => {
  const uncounted = answer('down', []);
  expect(write('draft-11', [uncounted])).toEqual({ 'ratelimit-policy': '"down";q=10;w=10' });
  expect(items(write('draft-11', [uncounted, answer('up', [state()])]).ratelimit)).toEqual({ up: { r: 4, t: 1 } });
  expect(write(['draft-6', 'legacy'], [uncounted])).toEqual({ 'ratelimit-policy': '10;w=10' });
});

test('forms for one limit show the refused one with the longest wait, else the one with least left', () => {
  const loose = answer('loose', [state({ remaining: 99, nextAfterMs: 100 })]);
  const tight = answer('tight', [state({ remaining: 1, nextAfterMs: 2001 })]);
  expect(write('draft-7', [loose, tight]).ratelimit).toBe('limit=10, remaining=1, reset=3');
  const refused = answer('refused', [state({ remaining: 2, retryAfterMs: 7001, nextAfterMs: 10 })]);
  const longer = answer('longer', [state({ remaining: 3, retryAfterMs: 9000, nextAfterMs: 10 })]);
  for (const order of [
    [tight, refused, longer],
    [longer, tight, refused],
  ]) {
    expect(write('draft-7', order).ratelimit).toBe('limit=10, remaining=3, reset=9');
  }
});

test('older forms are written as their drafts say', () => {
  const answers = [answer('p', [state()])];
  expect(write('draft-6', answers)).toEqual({
    'ratelimit-policy': '10;w=10',
    'ratelimit-limit': '10',
    'ratelimit-remaining': '4',
    'ratelimit-reset': '1',
  });
  expect(parseDictionary(write('draft-7', answers).ratelimit ?? '').get('remaining')?.[0]).toBe(4);
  expect(write('legacy', answers)).toEqual({
    'x-ratelimit-limit': '10',
    'x-ratelimit-remaining': '4',
    'x-ratelimit-reset': '1700000010',
  });
  expect(write('none', answers)).toEqual({});
  expect(createHeaderWriter()([])).toEqual([]);
});

test('several forms go together, and no field is written twice', () => {
  const forms: readonly HeaderForm[] = ['legacy', 'draft-6', 'draft-11'];
  const fields = createHeaderWriter(forms)([answer('p', [state()])]);
  const names = fields.map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toHaveLength(8);
  expect(Object.fromEntries(fields)['ratelimit-policy']).toBe('"p";q=10;w=10');
});

test.each(['draft-8', true, 7, [], null, ['draft-11', 'draft-7'], ['none', 'legacy'], ['legacy', 'x'], 'toString'])(
  'headers: %j is refused when it is configured',
  (headers) => {
    expect(() => createHeaderWriter(headers)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', field: 'headers' }),
    );
  },
);

test('whatever the numbers, every field parses, and holds only whole numbers of up to 15 digits', () => {
  const number = fc.oneof(
    fc.integer({ min: -5, max: 1e9 }),
    fc.double(),
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53, 1e15, 1e22, -0),
  );
  const anyState = fc.record({
    remaining: number,
    nextAfterMs: number,
    resetAfterMs: number,
    limit: number,
    retryAfterMs: fc.option(number),
  });
  const limits = [short, daily, tokenBucket({ capacity: 0, refill: 3, every: '7s' })];
  fc.assert(
    fc.property(fc.array(anyState, { minLength: 1, maxLength: 3 }), (states) => {
      const answers = [answer('a', states.map(state), limits), answer('b.c_d-e', [state(states[0])])];
      const fields = { ...write(['draft-11', 'draft-6', 'legacy'], answers), ...write('draft-7', answers) };
      const named = write('draft-11', answers);
      expect(Object.values(items(named.ratelimit)).flatMap(Object.values).every(isWhole)).toBe(true);
      expect(Object.keys(items(named['ratelimit-policy']))).toHaveLength(4);
      expect([...parseDictionary(fields.ratelimit ?? '').values()].every(([value]) => isWhole(value))).toBe(true);
      for (const [name, value] of Object.entries(fields))
        if (/-(limit|remaining|reset)$/.test(name)) expect(value).toMatch(/^\d{1,15}$/);
      expect(parseList(fields['ratelimit-policy'] ?? '')).toHaveLength(4);
    }),
  );
});

const isWhole = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 1e15;

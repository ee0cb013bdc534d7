import { createLimiter, type LimiterOptions, memoryStore, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../support/refusal.js';

const limit = slidingWindow({ limit: 1, window: '1s' });
const good = { policy: 'api', limits: limit };
const create = (options: unknown) => createLimiter(options as LimiterOptions);

describe('a wrong option is refused with a stable code, naming it and what it got', () => {
  test.each<[string, unknown, string]>([
    ['policy', undefined, 'ERR_POLICY'],
    ['policy', null, 'ERR_POLICY'],
    ['policy', '', 'ERR_POLICY'],
    ['policy', 7, 'ERR_POLICY'],
    ['policy', 'a b', 'ERR_POLICY'],
    ['policy', 'a:b', 'ERR_POLICY'],
    ['policy', '{a}', 'ERR_POLICY'],
    ['policy', 'a\n', 'ERR_POLICY'],
    ['policy', 'é', 'ERR_POLICY'],
    ['policy', 'x'.repeat(65), 'ERR_POLICY'],
    ['limits', undefined, 'ERR_LIMIT'],
    ['limits', null, 'ERR_LIMIT'],
    ['limits', [], 'ERR_LIMIT'],
    ['limits', 10, 'ERR_LIMIT'],
    ['limits', { limit: 1, window: '1s' }, 'ERR_LIMIT'],
    ['limits', [limit, undefined], 'ERR_LIMIT'],
    ['limits', [limit, null], 'ERR_LIMIT'],
    ['limits', Array.from({ length: 9 }, () => limit), 'ERR_LIMIT'],
    ['store', null, 'ERR_OPTION'],
    ['store', 'redis://localhost', 'ERR_OPTION'],
    ['store', 'memroy', 'ERR_OPTION'],
    ['store', {}, 'ERR_OPTION'],
    ['store', new Map(), 'ERR_OPTION'],
    ['timeoutMs', 0, 'ERR_OPTION'],
    ['timeoutMs', -1, 'ERR_OPTION'],
    ['timeoutMs', 0.5, 'ERR_OPTION'],
    ['timeoutMs', 60_001, 'ERR_OPTION'],
    ['timeoutMs', Number.NaN, 'ERR_OPTION'],
    ['timeoutMs', Number.POSITIVE_INFINITY, 'ERR_OPTION'],
    ['timeoutMs', '50', 'ERR_OPTION'],
    ['timeoutMs', '50ms', 'ERR_OPTION'],
    ['timeoutMs', null, 'ERR_OPTION'],
    ['onStoreFailure', '', 'ERR_OPTION'],
    ['onStoreFailure', 'Local', 'ERR_OPTION'],
    ['onStoreFailure', 'allow', 'ERR_OPTION'],
    ['onStoreFailure', null, 'ERR_OPTION'],
    ['onStoreFailure', true, 'ERR_OPTION'],
  ])('%s %#', (name, value, code) => {
    const refusal = refusalOf(() => create({ ...good, [name]: value }));
    expect({ code: refusal.code, field: refusal.field }).toEqual({ code, field: name });
    expect(refusal.text).toMatch(new RegExp(`^${name}: expected `));
  });

  test('two limits with one id, naming the second', () => {
    const named = slidingWindow({ limit: 1, window: '1s', id: 'a' });
    const { code, field } = refusalOf(() => create({ policy: 'api', limits: [named, named] }));
    expect({ code, field }).toEqual({ code: 'ERR_LIMIT', field: 'limits[1].id' });
  });

  test.each<[string, Partial<LimiterOptions>]>([
    ['instances', { onStoreFailure: 'open', instances: 4 }],
    ['instances', { onStoreFailure: 'closed', instances: 1 }],
    ['payBack', { onStoreFailure: 'closed', payBack: true }],
  ])('%s %# is refused beside a mode that does not use it', (name, options) => {
    const { code, field, text } = refusalOf(() => create({ ...good, ...options }));
    expect({ code, field }).toEqual({ code: 'ERR_OPTION', field: name });
    expect(text).toContain(`changes nothing with onStoreFailure ${options.onStoreFailure}`);
  });

  test.each([undefined, null, 'api', 7])('%j in place of options', (options) => {
    expect(refusalOf(() => create(options))).toMatchObject({ code: 'ERR_OPTION', field: 'options' });
  });

  test('the messages of numbers say the range', () => {
    expect(refusalOf(() => create({ ...good, timeoutMs: 0 })).text).toContain('from 1 to 60000, got 0');
    expect(refusalOf(() => create({ ...good, onStoreFailure: 'allow' })).text).toContain('local, open, closed');
  });
});

describe('a right option is accepted', () => {
  test.each<[string, Partial<LimiterOptions>]>([
    ['the shortest name', { policy: 'a' }],
    ['the longest name', { policy: 'x'.repeat(64) }],
    ['a name of every kind of character', { policy: 'aZ09_.-' }],
    ['the shortest time limit', { timeoutMs: 1 }],
    ['the longest time limit', { timeoutMs: 60_000 }],
    ['eight limits', { limits: Array.from({ length: 8 }, () => limit) }],
    ['a store', { store: memoryStore() }],
    ['mode local', { onStoreFailure: 'local' }],
    ['mode open', { onStoreFailure: 'open' }],
    ['mode closed', { onStoreFailure: 'closed' }],
    ['mode closed without what is of mode local', { onStoreFailure: 'closed', instances: 'auto', payBack: false }],
  ])('%s', async (_, options) => {
    const limiter = createLimiter({ ...good, ...options });
    expect((await limiter.consume('s')).allowed).toBe(true);
  });

  test('a limiter says its policy and its limits, with the ids they got', () => {
    const bucket = tokenBucket({ capacity: 5, refill: 1, every: '1s', id: 'burst' });
    const limiter = createLimiter({ policy: 'api', limits: [limit, bucket, limit] });
    expect(limiter.policy).toBe('api');
    expect(limiter.limits.map(({ id }) => id)).toEqual(['slidingWindow', 'burst', 'slidingWindow-2']);
  });
});

test('a number of processes over a memory store is warned of, once for each store', () => {
  const said: string[] = [];
  const store = { ...memoryStore(), warn: (text: string) => void said.push(text) };
  createLimiter({ ...good, store });
  expect(said).toEqual([]);
  for (let i = 0; i < 3; i++) createLimiter({ ...good, store, instances: 4 });
  expect(said).toEqual([expect.stringMatching(/^policy api: instances has no effect on a memory store/)]);
});

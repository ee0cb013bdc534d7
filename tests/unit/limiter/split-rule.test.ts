import {
  concurrency,
  createLimiter,
  type Limit,
  type LimiterOptions,
  quota,
  slidingWindow,
  splitLosses,
  tokenBucket,
} from 'comporta';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../support/refusal.js';

const window = slidingWindow({ limit: 10_000, window: '1s' });
const refusal = (options: Partial<LimiterOptions>, limits: Limit | readonly Limit[] = window) =>
  refusalOf(() => createLimiter({ policy: 'p', limits, split: { parts: 8 }, ...options }));

describe('a split that cannot be meant is refused with its field and a fix', () => {
  test.each<[string, unknown, string, RegExp]>([
    ['no object', 8, 'split', /expected \{ parts, subjects \}, got 8/],
    ['nothing', {}, 'split.parts', /from 2 to 64, got undefined/],
    ['one part', { parts: 1 }, 'split.parts', /from 2 to 64/],
    ['too many', { parts: 65 }, 'split.parts', /from 2 to 64/],
    ['a fraction', { parts: 2.5 }, 'split.parts', /whole number/],
    ['another field', { parts: 8, shards: 8 }, 'split.shards', /unknown; there are parts, subjects/],
    ['one subject', { parts: 8, subjects: 'hot' }, 'split.subjects', /list of 1 to 1000 subjects, got "hot"/],
    ['no subjects', { parts: 8, subjects: [] }, 'split.subjects', /got 0/],
    ['an empty subject', { parts: 8, subjects: ['a', ''] }, 'split.subjects[1]', /expected a non-empty string, got ""/],
    ['a subject that is no text', { parts: 8, subjects: [1] }, 'split.subjects[0]', /non-empty string, got 1/],
  ])('%s', (_, split, field, message) => {
    expect(refusal({ split: split as { parts: number } })).toMatchObject({
      field,
      text: expect.stringMatching(message),
    });
  });

  test.each<[string, Partial<LimiterOptions>]>([
    ['overrides', { overrides: true }],
    ['revision', { revision: 1 }],
    ['blocks', { blocks: true }],
  ])('%s', (name, options) => {
    expect(refusal(options)).toMatchObject({ code: 'ERR_OPTION', field: 'split' });
    expect(refusal(options).text).toContain(`cannot be used with ${name}`);
  });

  test('limits that leave a part too little, with how many parts would do, or which limit', () => {
    const small = refusal({}, slidingWindow({ limit: 100, window: '1s' }));
    expect(small).toMatchObject({ code: 'ERR_OPTION', field: 'split.parts' });
    expect(small.text).toContain('write at most 6 parts, or a limit of at least 128');
    const tiny = refusal({}, slidingWindow({ limit: 31, window: '1s' }));
    expect(tiny.text).toMatch(/: write a limit of at least 128$/);
    const plan = refusal({ plans: { free: slidingWindow({ limit: 10, window: '1s', id: 'x' }) } });
    expect(plan.text).toContain('a limit (x of plan "free") of 10 in 8 parts leaves fewer');
  });

  test.each([
    ['concurrency', concurrency({ limit: 128, lease: '10s' })],
    ['prorate', quota({ limit: 1_000_000, per: 'month', from: '2026-12-20', prorate: true })],
  ])('%s', (name, limits) => {
    expect(refusal({}, limits)).toMatchObject({ field: 'split', text: expect.stringContaining(`used with ${name}`) });
    expect(refusal({ plans: { free: limits } }).text).toMatch(new RegExp(`used with ${name}.* of plan "free"`));
  });

  test('a bucket whose rate cannot be divided exactly', () => {
    const huge = tokenBucket({ capacity: 999_999_873, refill: 20_011, every: 4_503_600 });
    expect(refusal({ split: { parts: 64 } }, huge).text).toMatch(/too large to be divided exactly/);
  });
});

test('a limit of nothing may be divided, and so may large quotas', () => {
  const limits = [slidingWindow({ limit: 0, window: '1s' }), quota({ limit: 1_000_000, per: 'month' })];
  const limiter = createLimiter({ policy: 'p', limits, split: { parts: 64 }, overrides: false });
  expect(limiter.limits).toHaveLength(2);
});

test('what splitting takes is told for each limit', () => {
  const limits = [window, tokenBucket({ capacity: 1000, refill: 1, every: '1s' })];
  expect(splitLosses(limits, { parts: 8 })).toEqual([
    { id: 'slidingWindow', largestCost: 1250, loss: expect.closeTo(0.0113, 4) },
    { id: 'tokenBucket', largestCost: 125, loss: expect.closeTo(0.0357, 4) },
  ]);
  expect(() => splitLosses(slidingWindow({ limit: 100, window: '1s' }), { parts: 8 })).toThrow(/at most 6 parts/);
});

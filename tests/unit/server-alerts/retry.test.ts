import { describe, expect, it } from 'vitest';
import { judge, RETRY_DEFAULTS, retryAfterMs } from '../../../packages/server/src/alerts/retry.js';

const status = (code: number, retryAfter?: string) => ({ status: code, retryAfter });
const wait = (attempt: number, chance: number, outcome = status(500)): number => {
  const verdict = judge(outcome, attempt, RETRY_DEFAULTS, 0, chance);
  return verdict.kind === 'again' ? verdict.waitMs : Number.NaN;
};

describe('after an attempt', () => {
  it.each([200, 202, 204])('%i is success', (code) => {
    expect(judge(status(code), 1, RETRY_DEFAULTS, 0, 0)).toEqual({ kind: 'sent' });
  });

  it.each([408, 425, 429, 500, 502, 503])('%i is worth another', (code) => {
    expect(judge(status(code), 1, RETRY_DEFAULTS, 0, 0).kind).toBe('again');
  });

  it.each([301, 302, 307, 308, 400, 401, 404, 410])('%i is final', (code) => {
    expect(judge(status(code), 1, RETRY_DEFAULTS, 0, 0).kind).toBe('given-up');
  });

  it('no answer is worth another, unless it can never come', () => {
    expect(judge({ fault: 'ECONNREFUSED', isFinal: false }, 1, RETRY_DEFAULTS, 0, 0).kind).toBe('again');
    expect(judge({ fault: 'ERR', isFinal: true }, 1, RETRY_DEFAULTS, 0, 0).kind).toBe('given-up');
  });

  it('the wait doubles up to a bound, half of it by chance', () => {
    expect([1, 2, 3, 4].map((attempt) => wait(attempt, 1))).toEqual([1000, 2000, 4000, 8000]);
    expect([1, 2, 3, 4].map((attempt) => wait(attempt, 0))).toEqual([500, 1000, 2000, 4000]);
    expect(wait(11, 1)).toBe(RETRY_DEFAULTS.waitMaxMs);
  });

  it('a longer wait that the sink asks for is kept', () => {
    expect(wait(1, 1, status(429, '7'))).toBe(7000);
    expect(wait(4, 1, status(429, '7'))).toBe(8000);
  });

  it('there is a last one', () => {
    const { attemptsMax } = RETRY_DEFAULTS;
    expect(judge(status(500), attemptsMax, RETRY_DEFAULTS, 0, 0)).toEqual({ kind: 'given-up', reason: 'status 500' });
  });
});

it.each([
  [undefined, 0],
  ['3', 3000],
  ['-3', 0],
  ['soon', 0],
  ['99999999', 300_000],
  ['Thu, 01 Jan 1970 00:00:05 GMT', 4000],
])('Retry-After %j is a wait of %i ms', (value, waitMs) => {
  expect(retryAfterMs(value, 1000)).toBe(waitMs);
});

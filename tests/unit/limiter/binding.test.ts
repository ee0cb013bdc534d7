import { slidingWindow } from 'comporta';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock } from '../../support/fake-clock.js';
import { admits, refuses, scripted } from './scripted-store.js';

const named = (id: string) => slidingWindow({ limit: 10, window: '1h', id });
const limits = [named('a'), named('b'), named('c')];

async function decided(reply: unknown) {
  const { limiter, store } = scripted({ limits });
  const answer = limiter.consume('s');
  store.call(0).resolve(reply);
  return answer;
}

describe('the limit that a decision names', () => {
  test.each<[string, readonly number[], string, number | null]>([
    ['the only one that refuses', [0, 700, 0], 'b', 700],
    ['the longest wait, first', [900, 700, 800], 'a', 900],
    ['the longest wait, last', [0, 3_600_000, 86_400_000], 'c', 86_400_000],
    ['the first of equal waits', [0, 700, 700], 'b', 700],
    ['the one that never admits, though others wait long', [3_600_000, -1, 86_400_000], 'b', null],
  ])('is %s', async (_, waits, id, retryAfterMs) => {
    const decision = await decided(refuses(...waits));
    expect(decision.allowed).toBe(false);
    expect(decision.binding?.id).toBe(id);
    expect(decision.retryAfterMs).toBe(retryAfterMs);
    expect(decision.reason).toBe(retryAfterMs === null ? 'cost-exceeds-limit' : 'limit-exceeded');
    expect(decision.limits.map((state) => state.retryAfterMs)).toEqual(waits.map((wait) => (wait < 0 ? null : wait)));
  });

  test('is the one with least left when all admit', async () => {
    const numbers = [7, 0, 10, 10, 3, 0, 20, 20, 5, 0, 30, 30];
    const decision = await decided({ atUs: 1_000_000, numbers });
    expect(decision).toMatchObject({ allowed: true, reason: undefined, retryAfterMs: 0 });
    expect(decision.binding).toEqual({
      id: 'b',
      limit: 10,
      windowMs: 3_600_000,
      remaining: 3,
      retryAfterMs: 0,
      resetAfterMs: 20,
      nextAfterMs: 20,
    });
    expect(decision.limits.map(({ id, remaining }) => [id, remaining])).toEqual([
      ['a', 7],
      ['b', 3],
      ['c', 5],
    ]);
  });

  test('is the same object as in the list', async () => {
    const decision = await decided(admits(5, 3));
    expect(decision.limits).toContain(decision.binding);
  });
});

test('with hourly and daily limits used up the daily one binds, and waiting as told suffices', async () => {
  const clock = new FakeClock(86_400_000_000 * 20_000);
  const hourly = slidingWindow({ limit: 10, window: '1h', id: 'hourly' });
  const daily = slidingWindow({ limit: 20, window: '1d', id: 'daily' });
  const limiter = wire({ policy: 'api', limits: [hourly, daily] }, clock);
  for (let hour = 0; hour < 2; hour++, clock.advance(3_600_000)) {
    for (let i = 0; i < 10; i++) expect((await limiter.consume('s')).allowed).toBe(true);
  }
  for (let i = 0; i < 2; i++) clock.advance(1000);
  const refused = await limiter.consume('s');
  expect(refused.binding?.id).toBe('daily');
  expect(refused.retryAfterMs).toBe(22 * 3_600_000 - 2000);
  clock.advance((refused.retryAfterMs as number) - 1);
  expect((await limiter.peek('s')).allowed).toBe(false);
  clock.advance(1);
  expect((await limiter.peek('s')).allowed).toBe(true);
});

import { concurrency, type Limit, slidingWindow, tokenBucket } from 'comporta';
import { describe, expect, test } from 'vitest';
import { adviceFor, adviser } from '../../../packages/server/src/admin/advice.js';
import type { Ranking } from '../../../packages/server/src/admin/hotspots.js';
import { topLines } from '../../../packages/server/src/cli/top-table.js';
import { FIGURES } from '../../../packages/server/src/plan/figures.js';
import { partsFor } from '../../../packages/server/src/plan/split.js';

type Policy = Parameters<typeof adviceFor>[0];

/** What one subject may have of a master's core. */
const ONE = Math.floor(5e5 / (FIGURES.tokenBucket?.cpuUs ?? 0));
const bucket = (capacity: number): Limit => tokenBucket({ capacity, refill: capacity, every: '1s' });
const CLUSTER = 'redis-cluster://127.0.0.1:7001';
const advice = (
  options: Partial<Policy>,
  perSecond: number,
  refusedPerSecond = 0,
  store = CLUSTER,
): string | undefined =>
  adviceFor(
    { name: 'p', limits: bucket(1_000_000), ...options },
    { subject: 'hot', perSecond, refusedPerSecond },
    store,
  );

describe('a subject that is asked for more often than one master decides', () => {
  test('is advised a lease, or as many parts as it needs', () => {
    expect(advice({}, ONE)).toBeUndefined();
    expect(advice({}, ONE + 1)).toMatch(
      /^lease: \{ maxOvershoot: 5% \} or split: \{ parts: 2 \} for policy p, beyond the /,
    );
    expect(advice({}, ONE * 5)).toContain('split: { parts: 8 }');
    expect(advice({}, ONE * 1000)).toContain('split: { parts: 64 }');
  });

  test('needs nothing where most of it is refused, unless refusals are not held', () => {
    expect(advice({}, ONE * 5, ONE * 4.5)).toBeUndefined();
    expect(advice({ hold: false }, ONE * 5, ONE * 4.5)).toMatch(/^hold: 20ms for policy p/);
    expect(advice({ hold: false }, ONE * 5, ONE * 2)).toContain('split: { parts: 4 }');
  });

  test('is advised what its policy can have', () => {
    expect(advice({ lease: { maxOvershoot: '5%' } }, ONE * 5)).toBeUndefined();
    expect(advice({ limits: bucket(100) }, ONE * 9)).toMatch(/^split: \{ parts: 6 \}/);
    expect(advice({ limits: bucket(20) }, ONE * 9)).toBeUndefined();
    expect(advice({ plans: { small: slidingWindow({ limit: 40, window: '1s' }) } }, ONE * 9)).toMatch(
      /^split: .* 2 \}/,
    );
    expect(advice({ overrides: true }, ONE * 9)).toBeUndefined();
    expect(advice({ blocks: true }, ONE * 9)).toMatch(/^lease: \{ maxOvershoot: 5% \} for/);
    expect(advice({ limits: concurrency({ limit: 5000, lease: '1s' }) }, ONE * 9)).toBeUndefined();
    expect(advice({}, ONE * 9, 0, 'redis://127.0.0.1:6379')).toMatch(/^lease: \{ maxOvershoot: 5% \} for/);
  });

  test('has as many times that as it has parts', () => {
    expect(advice({ split: { parts: 4 } }, ONE * 4)).toBeUndefined();
    expect(advice({ split: { parts: 4, subjects: ['other'] } }, ONE * 4)).toContain('split: { parts: 4 }');
    expect(advice({ split: { parts: 4 } }, ONE * 5)).toContain('split: { parts: 8 }');
  });
});

test('as many parts are advised as are needed, in powers of two', () => {
  expect([1, 2, 2.1, 4, 5, 64, 1000].map((times) => partsFor(times * 100, 100))).toEqual([2, 2, 4, 4, 8, 64, 64]);
});

const ranking = (subjects: Ranking['subjects']): Ranking => ({
  subjects,
  total: 1,
  sinceMs: 0,
  nowMs: 60_000,
  policies: ['p'],
  unseenMax: {},
});

async function advised(url: string, refused: number): Promise<{ advice: string | undefined; asked: number }> {
  let asked = 0;
  const policies = [{ name: 'p', limits: bucket(1_000_000), hold: false }];
  const hot = { policy: 'p', item: 'hot', count: ONE * 60 * 4, error: ONE * 60 };
  const state = {
    config: { store: { url } },
    engine: { config: { gate: { policies } } },
    team: {
      ask: async () => {
        asked++;
        return [ranking([{ policy: 'p', item: 'hot', count: refused, error: 0 }])];
      },
    },
  };
  const of = await adviser(state as unknown as Parameters<typeof adviser>[0], [hot], 60);
  expect(of({ ...hot, policy: 'unknown' })).toBeUndefined();
  return { advice: of(hot), asked };
}

test('rates are what was counted for sure, and refusals are looked up where a subject is hot enough', async () => {
  expect(await advised('redis-cluster://h:1', 0)).toEqual({
    advice: expect.stringMatching(/split: \{ parts: 4 \}/),
    asked: 1,
  });
  expect((await advised('redis-cluster://h:1', ONE * 60 * 3)).advice).toMatch(/^hold: 20ms/);
  expect(await advised('memory', 0)).toEqual({ advice: undefined, asked: 0 });
});

test('comporta top shows it above the table', () => {
  const subjects = [
    { policy: 'p', subject: 'hot', count: 9, error: 0, advice: 'split: { parts: 8 }' },
    { policy: 'p', subject: 'cold', count: 1, error: 0 },
  ];
  const seen = { by: 'requests', sinceMs: 0, nowMs: 1000, total: 10, subjects, breakers: [] };
  const lines = topLines({ ...seen, store: { address: 'redis://h', status: 'pass' } });
  expect(lines[3]).toBe('hot: split: { parts: 8 }');
  expect(lines).toHaveLength(7);
});

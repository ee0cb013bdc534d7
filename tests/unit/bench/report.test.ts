import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { goalsOf } from '../../../bench/peers-lib/goals.mjs';
import { faultFigures, type Recorded } from '../../../bench/peers-lib/lib/waits.mjs';
import { type Data, lossesOf, type Subjects } from '../../../bench/peers-lib/losses.mjs';
import { report } from '../../../bench/peers-lib/report.mjs';

const subjects: Subjects = {
  'bare socket': { by: 'reference', algorithm: 'token bucket' },
  'comporta bucket, ioredis': { by: 'comporta', algorithm: 'token bucket' },
  'comporta bucket, node-redis': { by: 'comporta', algorithm: 'token bucket' },
  'comporta bucket, ioredis, decide()': { by: 'comporta', algorithm: 'token bucket', modes: ['refused'] },
  'comporta log, ioredis': { by: 'comporta', algorithm: 'exact log' },
  'rate-limiter-flexible, ioredis': { by: 'peer', algorithm: 'fixed window' },
  other: { by: 'peer', algorithm: 'fixed window' },
};

const every = (perSecond: number, us: number): Readonly<Record<string, number>>[] =>
  [1, 1, 2].map((times) => ({ perSecond: perSecond * times, p50Us: us, p99Us: us, clientUs: us, redisUs: us }));

const data: Data = {
  blocks: [
    {
      topology: 'single',
      mode: 'uniform',
      title: 'many',
      inFlight: 64,
      results: {
        'bare socket': every(100, 1),
        'comporta bucket, ioredis': every(120, 5),
        'comporta bucket, node-redis': every(90, 6),
        'comporta bucket, ioredis, decide()': every(1000, 1),
        'comporta log, ioredis': every(80, 5),
        'rate-limiter-flexible, ioredis': every(100, 4),
        other: every(90, 4.9),
      },
    },
  ],
  space: {
    'comporta bucket, ioredis': { one: 100, full: 100 },
    'comporta log, ioredis': { one: 100, full: 300 },
    other: { one: 97, full: 50 },
  },
};

test('a goal is measured on the faster client, called in the usual way, and met by the median', () => {
  const found = goalsOf(data, subjects).filter(({ met }) => met !== undefined);
  expect(found.map(({ ours, other, met }) => [ours, other, met])).toEqual([
    ['comporta bucket, ioredis', 'rate-limiter-flexible, ioredis', false],
    ['comporta bucket, ioredis', 'bare socket', true],
  ]);
  expect(found[0]?.measured?.median).toBeCloseTo(1.2);
});

test('what a run did not measure is neither met nor missed', () => {
  const goals = goalsOf({ ...data, blocks: [] }, subjects);
  expect(goals.length).toBeGreaterThan(5);
  expect(goals.every(({ met, measured }) => met === undefined && measured === undefined)).toBe(true);
});

test('losses name how many are ahead in each figure and the foremost, and leave ties out', () => {
  const [load, full, ...more] = lossesOf(data, subjects, 'token bucket');
  expect(more).toEqual([]);
  expect(load?.place).toBe('many, 64 in flight');
  expect(load?.ahead.perSecond).toBeUndefined();
  expect(load?.ahead.clientUs).toEqual({ count: 1, name: 'rate-limiter-flexible, ioredis', factor: 0.8 });
  expect(full?.place).toBe('Redis memory after 100 decisions');
  expect(full?.ahead.bytes).toEqual({ count: 1, name: 'other', factor: 0.5 });
});

test('the exact log has losses of its own', () => {
  const [load] = lossesOf(data, subjects, 'exact log');
  expect(load?.ahead.perSecond).toEqual({ count: 2, name: 'rate-limiter-flexible, ioredis', factor: 1.25 });
});

test('waits of a fault are those of what was asked in it; without an answer they last to the end', () => {
  const records: Recorded[] = [
    [0, 1000, 1],
    [100, 150, 2],
    [110, 160, 'e'],
    [120, undefined, undefined],
    [200, 300, 1],
    [210, 215, 2],
    [220, 225, 0],
  ];
  expect(faultFigures(records, 100, 200, 500)).toEqual({
    p50Ms: 50,
    p99Ms: 380,
    maxMs: 380,
    errors: 1 / 3,
    unanswered: 1 / 3,
    recoveredMs: 25,
  });
});

test('the page has a figure in every place of its template, and says what is lost', () => {
  const template = readFileSync(new URL('../../../bench/peers-lib/page.md', import.meta.url), 'utf8');
  const wait = faultFigures([[0, 5, 1]], 0, 1, 9);
  const run = {
    ...data,
    made: '2030-01-02',
    command: 'a command',
    machine: 'a machine',
    versions: { other: '1.2.3' },
    plan: { rounds: 7, sliceMs: 300, faultMs: 4000 },
    accuracy: {
      other: { hammer: { most: 150, total: 100, undecided: 0 }, edge: { most: 199, undecided: 0 } },
      'comporta bucket, ioredis': {
        hammer: { most: 197, total: 120, undecided: 0.25 },
        edge: { most: 115, undecided: 0 },
      },
      'comporta log, ioredis': { hammer: { most: 100, total: 100, undecided: 0 }, edge: { most: 99, undecided: 0 } },
    },
    faults: { frozen: { other: wait }, killed: { other: wait } },
  };
  const page = report(template, run, subjects, { 'single-uniform': '<svg/>' });
  expect(page).not.toMatch(/\{\{|undefined|NaN/);
  expect(page).toContain('![many, decisions per second](benchmark/single-uniform.svg)');
  expect(page).toContain('at most 197 in one second, the exact log 100.');
  expect(page).toContain('| **comporta bucket, ioredis** | 197 | 115 | 120 | 25 % |  |');
});

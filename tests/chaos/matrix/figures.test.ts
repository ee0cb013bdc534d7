import { expect, test } from 'vitest';
import type { SeenCommand } from '../../support/proxy.js';
import { type Call, LIMIT, modes } from './call.js';
import { sentWrongly } from './charges.js';
import { type Fault, faults } from './faults.js';
import { figuresOf } from './figures.js';
import { type Found, missedGoals } from './goals.js';

const MS = 1000;
const marks = { beginUs: 1000 * MS, endUs: 2000 * MS };
const outage = faults.find(({ effect }) => effect === 'outage') as Fault;

const decided: Call = {
  mode: 'closed',
  subject: 's1',
  isHot: false,
  isHealthy: false,
  sentUs: 500 * MS,
  tookMs: 1,
  stalledMs: 0,
  allowed: true,
  reason: undefined,
  cause: undefined,
  degradedMode: undefined,
  detail: undefined,
};
const closed: Call = {
  ...decided,
  sentUs: 1500 * MS,
  allowed: false,
  reason: 'store-unavailable',
  cause: 'timeout',
  degradedMode: 'closed',
  detail: 'no answer',
};
const back: Call[] = modes.map((mode) => ({ ...decided, mode, sentUs: 2100 * MS }));

/** The goals missed by calls beside which everything else is well, without the name of the cell. */
function missedBy(calls: readonly Call[], found: Partial<Found> = {}, fault: Fault = outage): string[] {
  const figures = figuresOf([...calls, ...back], fault, marks);
  const well: Found = { figures, doubled: [], late: [], complaints: [], leftOver: [], endedAfterMs: 10 };
  const cell = { topology: 'single', client: 'iovalkey', fault } as const;
  return missedGoals(cell, { ...well, ...found }).map(({ text }) => text.slice(text.indexOf(': ') + 2));
}

test('an outage in which every mode is kept meets every goal', () => {
  expect(missedBy([decided, closed])).toEqual([]);
});

test.each<[string, Partial<Call>]>([
  ['allowed', { allowed: true, reason: undefined }],
  ['denied with', { mode: 'local', degradedMode: 'local' }],
  ['denied', { mode: 'open', degradedMode: 'open' }],
  ['degraded by mode open', { degradedMode: 'open' }],
  ['with reason undefined', { reason: undefined }],
  ['denied as limited', { mode: 'local', degradedMode: 'local', reason: 'limit-exceeded' }],
  ['not marked as degraded', { ...decided, sentUs: closed.sentUs }],
  ['detail ""', { detail: '' }],
])('a wrong decision is noticed: %s', (words, change) => {
  expect(missedBy([{ ...closed, ...change }])).toEqual([expect.stringContaining(words)]);
});

test('more than the limit is noticed, by the store and in its place', () => {
  const hot = Array.from({ length: LIMIT + 1 }, (): Call => ({ ...decided, mode: 'local', isHot: true }));
  expect(missedBy(hot)).toEqual([expect.stringContaining(`the store admitted ${LIMIT + 1} of ${LIMIT}`)]);
  const local = hot.map((call): Call => ({ ...call, cause: 'timeout', degradedMode: 'local', detail: 'late' }));
  expect(missedBy(local)).toEqual([expect.stringContaining(`${LIMIT + 1} of ${LIMIT} admitted in its place`)]);
});

test('late decisions are noticed, unless the process itself stood still', () => {
  expect(missedBy([{ ...closed, tookMs: 75 }])).toEqual([expect.stringContaining('decision p99.9: 75 ms')]);
  expect(missedBy([{ ...closed, tookMs: 75, stalledMs: 20 }])).toEqual([]);
  const refused: Call = { ...closed, cause: 'breaker-open' };
  expect(missedBy([{ ...refused, tookMs: 3 }])).toEqual([expect.stringContaining('with the breaker open: 3.0 ms')]);
  expect(missedBy([refused, closed])).toEqual([expect.stringContaining('asked although')]);
});

test('a store that comes back late, or not for long, is noticed', () => {
  const late = back.map((call): Call => ({ ...call, sentUs: 3200 * MS }));
  const figures = figuresOf([closed, ...late], outage, marks);
  expect(missedBy([], { figures })).toEqual([expect.stringContaining('decided again after')]);
  expect(missedBy([{ ...closed, sentUs: 2200 * MS }])).toEqual([expect.stringContaining('degraded again')]);
});

test('what other shards feel is noticed', () => {
  const healthy = { ...decided, isHealthy: true };
  const during = { ...healthy, sentUs: 1500 * MS };
  expect(missedBy([healthy, during])).toEqual([]);
  expect(missedBy([healthy, { ...during, tookMs: 9 }])).toEqual([expect.stringContaining('p99 on healthy shards')]);
  const degraded: Call = { ...closed, isHealthy: true };
  expect(missedBy([healthy, degraded])).toEqual([expect.stringContaining('degraded on healthy shards: 1.0 calls')]);
});

test('what is left over is noticed', () => {
  expect(missedBy([], { complaints: ['Error'], leftOver: ['Timeout'], endedAfterMs: 1500 })).toHaveLength(3);
});

test('commands that went out twice, or after their decision, are noticed', () => {
  const at = (ms: number): SeenCommand => {
    const key = 'cmp1:{s1}:closed:w:sw';
    return { name: 'EVALSHA', args: ['sha', '1', key], atNs: BigInt(ms) * 1_000_000n, connection: 1 };
  };
  expect(sentWrongly([decided], [at(500)], [])).toEqual({ repeated: [], late: [] });
  expect(sentWrongly([decided], [at(500), at(500)], []).repeated).toHaveLength(1);
  expect(sentWrongly([decided], [at(600)], []).late).toHaveLength(1);
});

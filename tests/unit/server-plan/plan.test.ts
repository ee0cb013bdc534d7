import { describe, expect, test } from 'vitest';
import { bytesOf, FIGURES, type Figures, keepsEntries } from '../../../packages/server/src/plan/figures.js';
import { leaseFor } from '../../../packages/server/src/plan/lease.js';
import { type Demand, planFor } from '../../../packages/server/src/plan/plan.js';
import { bytesText, planText } from '../../../packages/server/src/plan/report.js';

const bucket = { algorithm: 'tokenBucket', entries: 1 };
const log = { algorithm: 'slidingWindow', entries: 1000 };

const demand = (of: Partial<Demand> = {}): Demand => ({
  decisionsPerSecond: 1000,
  subjects: 1000,
  limits: [bucket],
  replicas: 1,
  load: 0.5,
  memoryBytes: 4e9,
  hottestPerSecond: undefined,
  ...of,
});

const figures = (bytes: Figures['bytes']): Figures => ({
  cpuUs: 1,
  furtherCpuUs: 1,
  inBytes: 1,
  outBytes: 1,
  replicaBytes: 1,
  bytes,
});

describe('the size of a subject', () => {
  const grown = figures({ 10: 100, 100: 1000, 1000: 19_000 });

  test.each([
    [1, 100],
    [10, 100],
    [55, 550],
    [100, 1000],
    [550, 10_000],
    [1000, 19_000],
    [2000, 39_000],
  ])('with %i entries lies on straight lines between what was measured', (entries, bytes) => {
    expect(bytesOf(grown, entries)).toBe(bytes);
  });

  test('is one number where an algorithm keeps no entries', () => {
    expect(bytesOf(figures({ 1: 201 }), 1)).toBe(201);
    expect(keepsEntries(figures({ 1: 201 }))).toBe(false);
  });
});

describe('a plan', () => {
  const { cpuUs, furtherCpuUs } = FIGURES.tokenBucket as Figures;

  test('is one master where one is enough', () => {
    expect(planFor(demand())).toMatchObject({ masters: 1, servers: 2, bound: 'one is enough', isTooHot: false });
  });

  test('has as many masters as the processor asks for, each no busier than was asked', () => {
    const plan = planFor(demand({ decisionsPerSecond: 990_001 }));
    expect(plan.masters).toBe(Math.ceil((990_001 * cpuUs) / 5e5));
    expect(plan.bound).toBe('processor');
    expect(plan.eachMaster.load).toBeLessThanOrEqual(0.5);
    expect(plan.room).toBeGreaterThanOrEqual(1);
  });

  test('has as many masters as memory asks for, and no cluster of two', () => {
    const plan = planFor(demand({ subjects: 20e6 }));
    expect(plan).toMatchObject({ masters: 3, bound: 'memory' });
    expect(plan.eachMaster.memoryBytes).toBeLessThanOrEqual(4e9);
  });

  test('counts each further limit of a subject without a further call', () => {
    const two = planFor(demand({ limits: [bucket, bucket] }));
    expect(two.cpuUsPerDecision).toBeCloseTo(cpuUs + furtherCpuUs);
    expect(two.bytesPerSubject).toBe(2 * bytesOf(FIGURES.tokenBucket as Figures, 1));
  });

  test('says when no number of masters is enough, since a subject lives on one', () => {
    const { subjectPerSecond } = planFor(demand());
    expect(subjectPerSecond).toBe(Math.floor(5e5 / cpuUs));
    const hot = demand({ hottestPerSecond: subjectPerSecond + 1 });
    expect(planFor(hot).isTooHot).toBe(true);
    expect(planText(hot, planFor(hot))).toContain('warning: the busiest subject');
    expect(planText(hot, planFor(hot))).toContain('split: { parts: 2 }');
    expect(planFor(demand({ hottestPerSecond: subjectPerSecond })).isTooHot).toBe(false);
  });

  test('refuses an algorithm that was never measured', () => {
    expect(() => planFor(demand({ limits: [{ algorithm: 'leakyBucket', entries: 1 }] }))).toThrow(/leakyBucket/);
  });

  test('is told in words and units', () => {
    const big = demand({ decisionsPerSecond: 50_000, subjects: 1e6, limits: [bucket, log], replicas: 2 });
    const text = planText(big, planFor(big));
    expect(text).toMatch(/^50,000 decisions\/s on 1,000,000 subjects: tokenBucket, slidingWindow=1,000\n/);
    expect(text).toMatch(/masters with 2 replicas each: \d+ servers/);
    expect(text).not.toContain('warning');
  });

  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1234, '1.2 kB'],
    [45_600, '46 kB'],
    [4e9, '4.0 GB'],
    [5e15, '5000 TB'],
  ])('writes %d bytes as %s', (bytes, text) => {
    expect(bytesText(bytes)).toBe(text);
  });
});

describe('leases', () => {
  test('exist with the limit or the percentage that is named where there are none', () => {
    for (let processes = 1; processes < 300; processes += 7) {
      for (const percent of [0.3, 1, 5, 7.7, 100]) {
        const of = (limit: number, most = percent) =>
          leaseFor({ maxOvershoot: { percent: most }, limit, processes, hottestPerSecond: undefined });
        const { units, why = '' } = of(2 * processes);
        if (percent === 100) expect(units).toBe(2);
        else expect(of(Number(/a limit of (\d+)/.exec(why)?.[1])).units).toBe(2);
        const named = /or ([\d.]+)%/.exec(of(50 * processes, 0.1).why ?? '')?.[1];
        expect(of(50 * processes, Number(named)).units).toBe(2);
      }
    }
  });
});

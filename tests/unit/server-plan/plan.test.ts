import { describe, expect, test } from 'vitest';
import { bytesOf, FIGURES, type Figures, keepsEntries } from '../../../packages/server/src/plan/figures.js';
import { leaseFor } from '../../../packages/server/src/plan/lease.js';
import { type Demand, planFor } from '../../../packages/server/src/plan/plan.js';
import { bytesText, planText } from '../../../packages/server/src/plan/report.js';
import { type SplitDemand, splitFor } from '../../../packages/server/src/plan/split.js';

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
  callsPerDecision: 1,
  limit: undefined,
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
    expect(planText(hot, planFor(hot))).toContain('split: { parts: 2 } spreads it over 3 masters');
    expect(planFor(demand({ hottestPerSecond: subjectPerSecond })).isTooHot).toBe(false);
  });

  test('has as many masters as the parts of its busiest subject ask for', () => {
    const most = 3 * planFor(demand()).subjectPerSecond;
    const plan = planFor(demand({ decisionsPerSecond: most, hottestPerSecond: most }));
    expect(plan).toMatchObject({ masters: 4, servers: 8, bound: 'busiest subject', split: { masters: 4, parts: 4 } });
  });

  test('takes into account what leases save of the busiest subject', () => {
    const hot = { decisionsPerSecond: 1e6, hottestPerSecond: 1e6 };
    expect(planFor(demand({ ...hot, callsPerDecision: 0.01 }))).toMatchObject({ isTooHot: false, split: undefined });
    const still = demand({ ...hot, callsPerDecision: 0.1 });
    expect(planFor(still)).toMatchObject({ isTooHot: true, split: { parts: 2 } });
    expect(planText(still, planFor(still))).toContain('1,000,000 decisions/s (100,000 calls/s with its leases)');
  });

  test('says why no split would do', () => {
    const text = (of: Partial<Demand>): string => {
      const hot = demand({ decisionsPerSecond: 1e6, hottestPerSecond: 1e6, ...of });
      return planText(hot, planFor(hot));
    };
    expect(text({ limit: 100 })).toContain('split would not do: each part needs 16 units of the limit of 100.');
    expect(text({ limits: [{ algorithm: 'concurrency', entries: 10 }] })).toContain(
      'concurrency limit cannot be split',
    );
    expect(text({ decisionsPerSecond: 1e7, hottestPerSecond: 1e7 })).toContain('64 parts, the most there are, are not');
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

describe('a split', () => {
  const of = (more: Partial<SplitDemand>) =>
    splitFor({
      masters: 3,
      perSecond: 1000,
      othersPerSecond: 0,
      onePerSecond: 1000,
      limit: undefined,
      holdsPlaces: false,
      ...more,
    });

  test.each([
    [1, 1000, 0, { masters: 3, parts: 2 }],
    [3, 1500, 0, { masters: 3, parts: 2 }],
    [3, 2900, 0, { masters: 3, parts: 32 }],
    [3, 3000, 0, { masters: 4, parts: 4 }],
    [5, 4500, 0, { masters: 5, parts: 32 }],
    [3, 1500, 1200, { masters: 3, parts: 8 }],
    [3, 64_000, 0, { masters: 64, parts: 64 }],
    [3, 64_001, 0, { masters: 3, parts: 0 }],
  ])(
    'on %i masters or more, with %i calls a second, overburdens none',
    (masters, perSecond, othersPerSecond, split) => {
      const found = of({ masters, perSecond, othersPerSecond });
      expect(found).toMatchObject(split);
      if (found.parts === 0) return;
      const busiest =
        (Math.ceil(found.parts / found.masters) / found.parts) * perSecond + othersPerSecond / found.masters;
      expect(busiest).toBeLessThanOrEqual(1000);
    },
  );

  test('leaves enough of the limit to each part', () => {
    expect(of({ perSecond: 2900, limit: 512 })).toMatchObject({ parts: 32, masters: 3 });
    expect(of({ perSecond: 2900, limit: 511 })).toMatchObject({ parts: 4, masters: 4 });
  });
});

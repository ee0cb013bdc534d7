import { createLimiter, type Decision, type LimiterOptions, type Store, slidingWindow, splitLosses } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, slotOf, startCluster } from '../support/cluster.js';
import { until } from '../support/wait.js';
import { startWorkers } from '../support/workers.js';
import { SPLIT_LIMIT, SPLIT_LIMITS, SPLIT_PARTS, type SplitRule } from './split-rules.js';
import type { SplitArgs, SplitLog } from './split-worker.js';

const PROCESSES = 3;
const split = { parts: SPLIT_PARTS };
const RULES = Object.keys(SPLIT_LIMITS) as SplitRule[];
/** Units that are asked for of each, in limits. */
const LOADS = { first: 1, second: 1, third: 1, beyond: 1.5 } as const;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

let cluster: Cluster;
let store: Store;
beforeAll(async () => {
  cluster = await startCluster({ replicas: 0 });
  store = redisStore(cluster.url);
  await store.ready(5000);
});
afterAll(async () => {
  await store?.close();
  await cluster?.stop();
});

const limiterOf = (policy: string, limits: LimiterOptions['limits'], more: Partial<LimiterOptions> = {}) =>
  createLimiter({ policy, limits, store, timeoutMs: 5000, split, ...more });

const partsOn = async (policy: string, subject: string): Promise<number[]> =>
  Promise.all(
    cluster.primaries.map(async (node) => {
      const keys = (await node.command('KEYS', `cmp1:{%p*.${subject}}:${policy}:*`)) as string[];
      return keys.length;
    }),
  );

describe('three processes on one subject in eight parts', () => {
  let logs: SplitLog[];
  beforeAll(async () => {
    const units = Object.entries(LOADS).map(
      ([subject, load]) => [subject, Math.floor((SPLIT_LIMIT * load) / PROCESSES)] as const,
    );
    const args: SplitArgs = { url: cluster.url, units: Object.fromEntries(units) };
    await using workers = startWorkers<SplitLog[]>(PROCESSES, new URL('./split-worker.ts', import.meta.url), args);
    await workers.receive();
    workers.send('go');
    logs = (await workers.results()).flat();
  });

  const admittedOf = (rule: SplitRule, subject: string): readonly Decision[] =>
    logs.filter((log) => log.rule === rule && log.subject === subject).flatMap(({ admitted }) => admitted);
  const unitsOf = (rule: SplitRule, subject: string): number => sum(admittedOf(rule, subject).map(({ cost }) => cost));

  test.each(RULES)('admit of %s never more than the limit, and hardly less than splitting may take', (rule) => {
    expect(logs.filter(({ degraded }) => degraded > 0)).toEqual([]);
    const [bound] = splitLosses(SPLIT_LIMITS[rule], split);
    const admitted = Object.keys(LOADS).map((subject) => unitsOf(rule, subject));
    const losses = admitted.map((units) => 1 - units / SPLIT_LIMIT);
    console.log(`${rule}: refused too early ${losses.map((loss) => `${(100 * loss).toFixed(2)} %`).join(', ')}`);
    expect(Math.max(...admitted)).toBeLessThanOrEqual(SPLIT_LIMIT);
    expect(sum(losses) / losses.length).toBeLessThanOrEqual(bound?.loss ?? 0);
    // Costs of 1 find whatever is left, in whichever part it is.
    expect(admitted.at(-1)).toBeGreaterThan(SPLIT_LIMIT * 0.99);
  });

  test('have their parts on all three masters, each with its third of eight, or one more or less', async () => {
    for (const subject of Object.keys(LOADS)) {
      const counts = await partsOn('log', subject);
      expect(sum(counts)).toBe(SPLIT_PARTS);
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(2);
      expect(Math.max(...counts)).toBeLessThanOrEqual(4);
    }
  });

  test.each(RULES)('charged for %s what another process gives back, each once', async (rule) => {
    const limiter = limiterOf(rule, SPLIT_LIMITS[rule]);
    const left = async () => (await limiter.peek('first')).limits[0]?.remaining;
    const decisions = admittedOf(rule, 'first');
    expect(await left()).toBe(SPLIT_LIMIT - unitsOf(rule, 'first'));
    const given = await Promise.all(decisions.map((decision) => limiter.refund(decision)));
    expect(given.every((is) => is)).toBe(true);
    expect(await left()).toBe(SPLIT_LIMIT);
    expect(await limiter.refund(decisions[0] as Decision)).toBe(false);
    const reservation = await limiter.reserve('first', { cost: 40 });
    expect(await limiterOf(rule, SPLIT_LIMITS[rule]).settle(reservation, 10)).toMatchObject({ settled: true });
    expect(await left()).toBe(SPLIT_LIMIT - 10);
    expect((await limiter.reset('first')).keysRemoved).toBeGreaterThan(0);
    expect(await left()).toBe(SPLIT_LIMIT);
  });
});

test('one master that freezes takes its parts with it, and the others answer for them', async () => {
  const limits = slidingWindow({ limit: 100_000, window: '1h' });
  const closed = limiterOf('closed', limits, { timeoutMs: 100, onStoreFailure: 'closed' });
  const local = limiterOf('local', limits, { timeoutMs: 100 });
  const heard: string[] = [];
  closed.on('degraded', ({ node }) => heard.push(`lost ${node}`));
  closed.on('recovered', ({ node }) => heard.push(`found ${node}`));
  const ask = (limiter: typeof closed, times: number): Promise<Decision[]> =>
    Promise.all(Array.from({ length: times }, () => limiter.consume('hot')));
  await until(async () => (await ask(closed, 16)).every(({ degraded }) => degraded === undefined));
  await ask(local, 16);
  const [frozen] = cluster.primaries;
  if (frozen === undefined) throw new Error('there is no master');
  frozen.freeze();
  try {
    await until(async () => (await ask(closed, 16)).every(({ allowed }) => allowed), { timeoutMs: 5000 });
    // Whatever its own part says, every request finds one that is there.
    expect((await ask(closed, 200)).filter(({ allowed, degraded }) => !allowed || degraded !== undefined)).toEqual([]);
    const decisions = await ask(local, 200);
    expect(decisions.every(({ allowed }) => allowed)).toBe(true);
    const there = decisions.filter(({ degraded }) => degraded === undefined).length;
    const keys = (await Promise.all(
      cluster.primaries.slice(1).map((node) => node.command('KEYS', '*.hot}:local:*')),
    )) as string[][];
    expect(there).toBeGreaterThanOrEqual(25 * sum(keys.map(({ length }) => length)));
    expect(there).toBeLessThan(200);
  } finally {
    frozen.thaw();
  }
  await until(async () => (await ask(local, 16)).every(({ degraded }) => degraded === undefined), { timeoutMs: 5000 });
  await until(async () => (await ask(closed, 16)).length > 0 && heard.length > 1);
  const node = `127.0.0.1:${frozen.port}`;
  expect(heard).toEqual([`lost ${node}`, `found ${node}`]);
  await Promise.all([closed.close(), local.close()]);
});

test('the slot of a part is that of its key', async () => {
  const limiter = limiterOf('slots', SPLIT_LIMITS.log);
  await Promise.all(Array.from({ length: SPLIT_PARTS }, () => limiter.consume('where')));
  for (const node of cluster.primaries) {
    for (const key of (await node.command('KEYS', '*.where}:slots:*')) as string[]) {
      expect(await cluster.nodeForSlot(slotOf(key))).toBe(node);
    }
  }
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, slotOf, startCluster } from '../support/cluster.js';
import type { Server } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';
import { startWorkers, type Workers } from '../support/workers.js';
import { monotonicUs } from './monotonic.js';
import { percentile, timesText } from './percentile.js';
import { callsOf } from './stats.js';
import { chargesOf, type PolicyName, type SteadyArgs, type SteadyLog, steadyLimiter } from './steady.js';

const WORKERS = 2;
const TIMEOUT_MS = 50;
/** Under load on a busy machine: the test is about what moves, and a pause of a server would hide it. */
const LOAD_TIMEOUT_MS = 200;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ replicas: 0 });
});
afterAll(() => cluster?.stop());

async function startLoad(args: Omit<SteadyArgs, 'url'>): Promise<Workers<SteadyLog>> {
  const module = new URL('./steady-worker.ts', import.meta.url);
  const workers = startWorkers<SteadyLog>(WORKERS, module, { url: cluster.url, ...args });
  await workers.receive();
  return workers;
}

interface Totals {
  readonly calls: number;
  readonly refused: number;
  readonly degraded: SteadyLog['degraded'];
  readonly tookMs: Float64Array;
  allowed(key: string): number;
}

async function endLoad(workers: Workers<SteadyLog>): Promise<Totals> {
  workers.send('stop');
  const logs = await workers.results();
  const total = (of: (log: SteadyLog) => number): number => logs.reduce((sum, log) => sum + of(log), 0);
  return {
    calls: total(({ calls }) => calls),
    refused: total(({ refused }) => refused),
    degraded: logs.flatMap(({ degraded }) => degraded),
    tookMs: Float64Array.from(logs.flatMap(({ tookMs }) => [...tookMs])),
    allowed: (key) => total((log) => log.allowed.get(key) ?? 0),
  };
}

/** Degraded decisions that a standstill of the calling process does not account for. */
const unexplained = ({ degraded }: Totals): SteadyLog['degraded'] =>
  degraded.filter(({ cause, stalledMs }) => cause !== 'timeout' || stalledMs < LOAD_TIMEOUT_MS / 3);

/** Names whose keys share the slot of the first one. */
function neighboursOf(subject: string, count: number): string[] {
  const found: string[] = [];
  for (let i = 0; found.length < count; i++) {
    const name = `near-${i}`;
    if (slotOf(`{${name}}`) === slotOf(`{${subject}}`)) found.push(name);
  }
  return found;
}

/** The store holds one charge for each decision that it allowed, and none but those it may have made unheard. */
async function expectChargedOnce(policy: PolicyName, subjects: readonly string[], totals: Totals): Promise<void> {
  const { limiter, close } = steadyLimiter(policy, cluster.url, 1000);
  for (const subject of subjects) {
    const key = `${policy} ${subject}`;
    const unheard = totals.degraded.filter((one) => one.key === key).length;
    const charges = await chargesOf(limiter, subject);
    expect(new Set(charges).size, `${key}: all limits charged alike: ${charges}`).toBe(1);
    expect(charges[0], key).toBeGreaterThanOrEqual(totals.allowed(key));
    expect(charges[0], key).toBeLessThanOrEqual(totals.allowed(key) + unheard);
  }
  await close();
}

/** Sends the slot around the cluster, key by key, resting at every step so that requests meet each state of it. */
async function sendAround(slot: number, rounds: number): Promise<number> {
  let steps = 0;
  for (let i = 0; i < rounds * cluster.primaries.length; i++) {
    const owner = await cluster.nodeForSlot(slot);
    const index = cluster.primaries.indexOf(owner);
    const move = await cluster.beginMove(slot, cluster.primaries[(index + 1) % 3] as Server);
    await sleep(20);
    while ((await move.migrateKeys(1)) > 0) {
      steps++;
      await sleep(3);
    }
    await move.finish();
    await sleep(50);
  }
  return steps;
}

test('a slot that moves under load is decided right all the way, each request charged once', async () => {
  const subjects = ['moving', ...neighboursOf('moving', 2)];
  await using workers = await startLoad({
    policies: ['one', 'three'],
    subjects,
    inFlight: 6,
    timeoutMs: LOAD_TIMEOUT_MS,
    restMs: 5,
  });
  const steps = await sendAround(slotOf('{moving}'), 4);
  const totals = await endLoad(workers);
  console.log(
    `12 moves, ${steps} keys moved: ${totals.calls} calls, ${totals.degraded.length} degraded, ${timesText(totals.tookMs)}`,
    [...new Set(unexplained(totals).map(({ key, cause, detail }) => `${key} ${cause}: ${detail}`))].slice(0, 5),
  );
  expect(steps).toBeGreaterThan(12 * subjects.length);
  expect(totals.refused).toBe(0);
  expect(percentile(totals.tookMs, 0.99)).toBeLessThan(TIMEOUT_MS + 10);
  await expectChargedOnce('one', subjects, totals);
  await expectChargedOnce('three', subjects, totals);
  expect(unexplained(totals).length).toBeLessThan(0.02 * totals.calls);
  expect(totals.degraded.length).toBeLessThan(0.05 * totals.calls);
});

test('a script cache that is flushed all the time costs one upload per node and process, and no decision', async () => {
  const subjects = Array.from({ length: 60 }, (_, i) => `flushed-${i}`);
  const before = await countsOf(cluster.primaries);
  await using workers = await startLoad({ policies: ['one'], subjects, inFlight: 24, timeoutMs: 1000, restMs: 0 });
  const flushes = 30;
  for (let i = 0; i < flushes; i++) {
    await Promise.all(cluster.primaries.map((node) => node.command('SCRIPT', 'FLUSH')));
    await sleep(100);
  }
  const totals = await endLoad(workers);
  const after = await countsOf(cluster.primaries);
  const uploads = after.evals - before.evals;
  const calls = after.evalshas - before.evalshas;
  console.log(`${flushes} flushes of 3 nodes: ${totals.calls} calls, ${uploads} uploads, ${timesText(totals.tookMs)}`);
  expect(totals.degraded).toEqual([]);
  expect(totals.refused).toBe(0);
  // At most 64 go together.
  expect(calls).toBeGreaterThanOrEqual(totals.calls / 64);
  // One per script (for one decision and for several), flush, node and process, and one of the looks at the start;
  // 24 requests were in flight each time.
  expect(uploads).toBeGreaterThanOrEqual(flushes * cluster.primaries.length);
  expect(uploads).toBeLessThanOrEqual(2 * WORKERS * cluster.primaries.length * (flushes + 2));
  expect(uploads).toBeLessThan(0.05 * calls);
  await expectChargedOnce('one', subjects, totals);
});

async function countsOf(nodes: readonly Server[]): Promise<{ readonly evals: number; readonly evalshas: number }> {
  return { evals: await callsOf(nodes, 'eval'), evalshas: await callsOf(nodes, 'evalsha') };
}

test('a new subject in a moving slot is decided by one limit at once, by several when the slot has moved', async () => {
  const [first = '', second = ''] = neighboursOf('moving', 4).slice(2);
  const owner = await cluster.nodeForKey(`{${first}}`);
  const to = cluster.primaries.find((node) => node !== owner) as Server;
  const one = steadyLimiter('one', cluster.url, TIMEOUT_MS);
  const three = steadyLimiter('three', cluster.url, TIMEOUT_MS);
  for (const { limiter } of [one, three]) await chargesOf(limiter, 'elsewhere');
  const move = await cluster.beginMove(slotOf(`{${first}}`), to);
  // One key: the old node says ASK and the new one decides.
  expect(await one.limiter.consume(first)).toMatchObject({ allowed: true, degraded: undefined });
  // Several keys that exist nowhere: no node may decide until the move is over.
  const startUs = monotonicUs();
  const undecided = await three.limiter.consume(second);
  expect(undecided).toMatchObject({ allowed: false, degraded: { mode: 'closed', cause: 'unavailable' } });
  expect((monotonicUs() - startUs) / 1000).toBeLessThan(TIMEOUT_MS + 50);
  await move.finish();
  await until(async () => (await three.limiter.consume(second)).degraded === undefined);
  expect(await chargesOf(one.limiter, first)).toEqual([1]);
  expect(await chargesOf(three.limiter, second)).toEqual([1, 1, 1]);
  for (const { close } of [one, three]) await close();
});

test('a slot that waits for its move is no fault of its node, which decides other subjects all the time', async () => {
  const [waiting = ''] = neighboursOf('moving', 5).slice(4);
  const owner = await cluster.nodeForKey(`{${waiting}}`);
  const names = Array.from({ length: 50 }, (_, i) => `beside-${i}`);
  const owners = await Promise.all(names.map((name) => cluster.nodeForKey(`{${name}}`)));
  const beside = names.filter((_, i) => owners[i] === owner);
  const { limiter, close } = steadyLimiter('three', cluster.url, TIMEOUT_MS);
  for (const name of [...beside, 'elsewhere', 'moving']) await chargesOf(limiter, name);
  const to = cluster.primaries.find((node) => node !== owner) as Server;
  const move = await cluster.beginMove(slotOf('{moving}'), to);
  const undecided = [];
  for (let i = 0; i < 8; i++) undecided.push(await limiter.consume(waiting));
  expect(undecided.every(({ degraded }) => degraded !== undefined)).toBe(true);
  const decisions = await Promise.all(beside.map((name) => limiter.consume(name)));
  await move.finish();
  await close();
  expect(decisions.map(({ degraded }) => degraded?.cause)).toEqual(beside.map(() => undefined));
});

test('a process that starts while one shard is dead is served by all others', async () => {
  const names = Array.from({ length: 30 }, (_, i) => `early-${i}`);
  const dead = await cluster.nodeForKey(`{${names[0]}}`);
  const owners = await Promise.all(names.map(async (name) => [name, await cluster.nodeForKey(`{${name}}`)] as const));
  const alive = owners.filter(([, node]) => node !== dead).map(([name]) => name);
  await dead.kill();
  const { limiter, close } = steadyLimiter('one', cluster.url, TIMEOUT_MS);
  for (const name of alive) await chargesOf(limiter, name);
  const onDead = await limiter.consume(names[0] ?? '');
  expect(onDead).toMatchObject({ allowed: false, degraded: { cause: 'unavailable' } });
  expect(await limiter.consume(alive[0] ?? '')).toMatchObject({ allowed: true, degraded: undefined });
  await dead.start();
  await until(async () => (await limiter.consume(names[0] ?? '')).degraded === undefined, { what: 'the shard again' });
  await close();
});

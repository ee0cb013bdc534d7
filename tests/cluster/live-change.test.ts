import { createLimiter } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import { startWorkers } from '../support/workers.js';
import { windowExcess } from './exactness.js';
import { CAPACITY, changes, NEXT, refills, sizes, subjects, WINDOW_LIMIT, windows } from './live-change-cases.js';
import type { ChangeArgs, ChangeLog } from './live-change-worker.js';

/** How long the two versions run side by side; a minute with COMPORTA_ROLLING_MS=60000. */
const ROLLING_MS = Number(process.env.COMPORTA_ROLLING_MS ?? 8000);
/** When the change reaches each of the three processes, as a part of the run: at once, a second and five later. */
const REACHED = [1 / 8, 2 / 8, 6 / 8];

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

/** What all processes saw of one subject under one change, in the server's order. */
interface Seen {
  readonly change: string;
  readonly subject: string;
  readonly calls: number;
  readonly followed: number;
  readonly firstNextUs: number;
  readonly lastOldUs: number;
  readonly admitted: ChangeLog['admitted'];
}

async function roll(run: string, areRevised: boolean): Promise<readonly Seen[]> {
  const argsOf = (index: number): ChangeArgs => {
    return {
      url: cluster.url,
      run,
      changeAtMs: ROLLING_MS * (REACHED[index] as number),
      forMs: ROLLING_MS,
      areRevised,
    };
  };
  const module = new URL('./live-change-worker.ts', import.meta.url);
  await using workers = startWorkers<ChangeLog[]>(REACHED.length, module, argsOf);
  await workers.receive();
  workers.send('go');
  const logs = (await workers.results()).flat();
  expect(logs.flatMap(({ faults }) => faults)).toEqual([]);
  return Object.keys(changes).flatMap((change) => subjects.map((subject) => gathered(change, subject, logs)));
}

function gathered(change: string, subject: string, logs: readonly ChangeLog[]): Seen {
  const mine = logs.filter((log) => log.change === change && log.subject === subject);
  return {
    change,
    subject,
    calls: sum(mine.map(({ calls }) => calls)),
    followed: sum(mine.map(({ followed }) => followed)),
    firstNextUs: Math.min(...mine.map(({ firstNextUs }) => firstNextUs)),
    lastOldUs: Math.max(...mine.map(({ lastOldUs }) => lastOldUs)),
    admitted: mine.flatMap(({ admitted }) => admitted).toSorted((a, b) => a.atUs - b.atUs),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
const nameOf = ({ change, subject }: Seen): string => `${change} of ${subject}`;
const msOf = (limit: { readonly windowMs: number } | undefined): number => limit?.windowMs ?? 0;

/** Takes what is left by the newest limits, so that the total says what was forgotten or granted twice. */
async function drain(run: string, change: string, subject: string): Promise<number> {
  const store = redisStore(cluster.url);
  const policy = `${run}-${change}`;
  const limits = changes[change]?.next ?? [];
  const options = { policy, limits, store, timeoutMs: 10_000, onStoreFailure: 'closed' as const };
  const limiter = createLimiter({ ...options, ...(run === 'revised' ? { revision: NEXT } : {}) });
  let admitted = 0;
  while ((await limiter.consume(subject)).allowed) admitted++;
  await limiter.close();
  await store.close();
  return admitted;
}

/** Most that a bucket admitted above what its two rates allow, each in its time; both kept `used`. */
function refillExcess({ admitted }: Seen, [before, after]: readonly [number, number]): number {
  // A bucket accrues from its last charge on, by the limits that come to look.
  const turnUs = admitted.findLast(({ isNext }) => !isNext)?.atUs ?? 0;
  const startUs = admitted[0]?.atUs ?? 0;
  const accrued = (atUs: number): number =>
    ((Math.min(atUs, turnUs) - startUs) * before + Math.max(0, atUs - turnUs) * after) / 1000;
  let lowest = Number.POSITIVE_INFINITY;
  let excess = Number.NEGATIVE_INFINITY;
  admitted.forEach(({ atUs }, index) => {
    const level = index - accrued(atUs);
    lowest = Math.min(lowest, level);
    excess = Math.max(excess, level - lowest + 1 - CAPACITY);
  });
  return excess;
}

test('with revisions the newest limits decide from their first decision on, and no use is lost', async () => {
  const seen = await roll('revised', true);

  // Nobody decided by older limits after the first decision by the newer.
  expect(seen.filter((one) => !(one.firstNextUs < Number.POSITIVE_INFINITY)).map(nameOf)).toEqual([]);
  expect(seen.filter(({ lastOldUs, firstNextUs }) => lastOldUs > firstNextUs).map(nameOf)).toEqual([]);
  // And not because there was nobody: processes with the old settings went on, and followed.
  expect(seen.filter(({ followed }) => followed === 0).map(nameOf)).toEqual([]);
  expect(seen.filter(({ lastOldUs }) => lastOldUs === 0).map(nameOf)).toEqual([]);

  for (const one of seen.filter(({ change }) => change in sizes)) {
    const byOld = one.admitted.filter(({ isNext }) => !isNext).length;
    const total = one.admitted.length + (await drain('revised', one.change, one.subject));
    expect([nameOf(one), total]).toEqual([nameOf(one), Math.max(byOld, sizes[one.change]?.next.limit ?? 0)]);
  }

  for (const one of seen.filter(({ change }) => change in windows)) {
    const { old, next } = windows[one.change] ?? {};
    // What had left the shorter window is gone in any case.
    const fromUs = one.firstNextUs - 1000 * Math.min(msOf(old), msOf(next));
    const counted = one.admitted
      .filter(({ atUs }) => atUs > fromUs)
      .map(({ atUs }) => ({ atUs, sentUs: 0, heardUs: 0 }));
    const excess = windowExcess(counted, { limit: WINDOW_LIMIT, windowMs: msOf(next) });
    expect([nameOf(one), excess <= 0, excess > -WINDOW_LIMIT / 2]).toEqual([nameOf(one), true, true]);
  }

  for (const one of seen.filter(({ change }) => change in refills)) {
    // A drop of rounding at the turn, far from one token; and the load did take what there was.
    const excess = refillExcess(one, refills[one.change]?.rates ?? [0, 0]);
    expect([nameOf(one), excess < 0.1, excess > -1]).toEqual([nameOf(one), true, true]);
  }
  const calls = sum(seen.map((one) => one.calls));
  console.log(`with revisions: ${calls} calls, ${sum(seen.map((one) => one.followed))} of them followed newer limits`);
});

test('control: without revisions old processes go on by old limits, which the same checks notice', async () => {
  const seen = await roll('plain', false);
  expect(seen.filter(({ lastOldUs, firstNextUs }) => lastOldUs <= firstNextUs).map(nameOf)).toEqual([]);
  expect(sum(seen.map(({ followed }) => followed))).toBe(0);

  // Use is one count for both, so the total is that of the larger limit, whoever reaches it.
  for (const one of seen.filter(({ change }) => change in sizes)) {
    const { old, next } = sizes[one.change] as (typeof sizes)[string];
    const total = one.admitted.length + (await drain('plain', one.change, one.subject));
    expect([nameOf(one), total]).toEqual([nameOf(one), Math.max(old.limit, next.limit)]);
  }

  const longer = seen.filter(({ change }) => change === 'window-longer');
  for (const one of longer) {
    const counted = one.admitted
      .filter(({ atUs }) => atUs > one.firstNextUs)
      .map(({ atUs }) => ({ atUs, sentUs: 0, heardUs: 0 }));
    const windowMs = msOf(windows['window-longer']?.next);
    expect(windowExcess(counted, { limit: WINDOW_LIMIT, windowMs })).toBeGreaterThan(WINDOW_LIMIT / 2);
  }
  console.log(`without: ${sum(seen.map((one) => one.calls))} calls`);
});

import { createLimiter, type Decision, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import { until } from '../support/wait.js';
import { startWorkers } from '../support/workers.js';
import { bucketExcess, windowExcess } from './exactness.js';
import type { LeasedRule } from './unit-lease-rules.js';
import type { LeasedArgs, LeasedLog } from './unit-lease-worker.js';

const PROCESSES = 3;
/** The clocks of the processes and of the server are read to the millisecond. */
const CLOCK_MS = 2;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

async function logsOf(): Promise<(rule: LeasedRule) => readonly LeasedLog[]> {
  const args: LeasedArgs = { url: cluster.url, processes: PROCESSES, forMs: 2500 };
  await using workers = startWorkers<LeasedLog[]>(PROCESSES, new URL('./unit-lease-worker.ts', import.meta.url), args);
  await workers.receive();
  workers.send('go');
  const logs = (await workers.results()).flat();
  return (rule) => logs.filter((log) => log.rule === rule);
}

test('processes that lease keep the bounds of a bucket, of a window and of a strict window', async () => {
  const of = await logsOf();
  const admitted = (rule: LeasedRule) => of(rule).flatMap((log) => log.admitted);
  const excess = {
    bucket: bucketExcess(admitted('bucket'), { capacity: 1000, rate: 2, tickUs: 1000 }),
    plain: windowExcess(admitted('plain'), { limit: 1500, windowMs: 500 - CLOCK_MS }),
    strict: windowExcess(admitted('strict'), { limit: 1500, windowMs: 500 - CLOCK_MS }),
  };
  console.log('admitted beyond the limit:', JSON.stringify(excess));
  expect(excess.bucket).toBeLessThanOrEqual(100 + CLOCK_MS * 2);
  expect(excess.plain).toBeLessThanOrEqual(150);
  expect(excess.strict).toBeLessThanOrEqual(0);
  for (const rule of ['bucket', 'plain', 'strict'] as const) {
    const [calls, local, degraded] = (['calls', 'local', 'degraded'] as const).map((key) =>
      of(rule).reduce((sum, log) => sum + log[key], 0),
    ) as [number, number, number];
    expect(degraded).toBe(0);
    expect(local).toBeGreaterThan(100);
    // More was asked for than may pass, so each check could have failed.
    expect(calls).toBeGreaterThan(2 * admitted(rule).length);
  }
});

test('a process leases by itself once all others must have counted it', async () => {
  const store = redisStore(cluster.url);
  const limits = slidingWindow({ limit: 1_000_000, window: '1s' });
  const limiter = createLimiter({ policy: 'auto', limits, store, timeoutMs: 2000, lease: { maxOvershoot: '1%' } });
  const startedMs = performance.now();
  const isLocal = async (): Promise<boolean> => {
    const decisions: (Decision | Promise<Decision>)[] = [];
    for (let i = 0; i < 4; i++) {
      decisions.push(limiter.decide('hot'));
      await decisions.at(-1);
    }
    return decisions.some((decision) => !(decision instanceof Promise));
  };
  await until(isLocal, { what: 'a decision without the store', timeoutMs: 15_000 });
  expect(performance.now() - startedMs).toBeGreaterThan(5900);
  await limiter.close();
  await store.close();
});

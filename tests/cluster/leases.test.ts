import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import type { Server } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';
import { startWorkers, type Worker, type Workers } from '../support/workers.js';
import { type Hold, type LeaseArgs, ROUNDS, type Told } from './lease-worker.js';
import { limiterOn, mostAtOnce, recordOf } from './leases.js';

const PROCESSES = 4;
const TASKS = 25;
/** Waits of other processes are asked for again after this at most. */
const ASK_MS = 400;
/** What a busy machine may add to any time. */
const ROOM_MS = 5000;

let cluster: Cluster;
let store: ReturnType<typeof redisStore>;
let home: Server;
beforeAll(async () => {
  cluster = await startCluster();
  store = redisStore(cluster.url);
  await store.ready(30_000);
  home = await cluster.nodeForKey('{hot}');
});
afterAll(async () => {
  await store?.close();
  await cluster?.stop();
});

function start(count: number, args: Omit<LeaseArgs, 'url'>): Workers<Hold[]> {
  return startWorkers<Hold[]>(count, new URL('./lease-worker.ts', import.meta.url), { url: cluster.url, ...args });
}

/** Holders, one process each, that hold what they asked for. */
async function holders(
  args: Omit<LeaseArgs, 'url' | 'role'>,
  processes = 1,
): Promise<readonly [Workers<Hold[]>, string[]]> {
  const workers = start(processes, { role: 'holder', ...args });
  const told = await workers.receive<Told>();
  const ids = told.flatMap((each) => (each.kind === 'holds' ? each.ids : []));
  expect(ids.length).toBe(args.count * processes);
  return [workers, ids];
}

/** Looks at the server's record all the time until it is stopped; the most holders that it ever had. */
function watchRecord(policy: string): () => Promise<number> {
  let [most, isOver] = [0, false];
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, (await recordOf(home, policy)).living.size);
      await sleep(5);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return most;
  };
}

const idsOn = async (policy: string): Promise<string[]> => [...(await recordOf(home, policy)).living.keys()].sort();

test('four processes with a hundred tasks hold exactly the limit at once, and every task has its turns', async () => {
  const limit = 5;
  await using workers = start(PROCESSES, { policy: 'busy', limit, leaseMs: 60_000, role: 'busy', count: TASKS });
  await workers.receive();
  const most = watchRecord('busy');
  workers.send('go');
  const holds = (await workers.results()).flat();
  expect(holds.length).toBe(PROCESSES * TASKS * ROUNDS);
  expect(mostAtOnce(holds)).toBe(limit);
  expect(await most()).toBe(limit);
  expect(await idsOn('busy'), 'all were released').toEqual([]);
});

test('places of a process that was killed are free when its leases end, and no sooner', async () => {
  const [policy, leaseMs] = ['killed', 1500];
  const [workers, ids] = await holders({ policy, limit: 3, leaseMs, count: 3 });
  await using _ = workers;
  await sleep(leaseMs);
  expect(await idsOn(policy), 'renewed so far').toEqual(ids.toSorted());
  await workers.stop();
  const { atMs, living } = await recordOf(home, policy);
  const firstEndMs = Math.min(...living.values());
  expect(Math.max(...living.values()), 'none may outlive its lease').toBeLessThanOrEqual(atMs + leaseMs);
  const limiter = limiterOn(store, policy, 3, leaseMs);
  const lease = await limiter.acquire('hot', { maxWaitMs: 60_000 });
  const gotMs = lease.decision.atUs / 1000;
  expect(lease.allowed).toBe(true);
  expect(gotMs).toBeGreaterThanOrEqual(firstEndMs);
  expect(gotMs).toBeLessThan(atMs + leaseMs + ASK_MS + ROOM_MS);
  await limiter.close();
});

/** Stops a process for so long that its leases end. */
async function pauseUntilFree(worker: Worker<Hold[]>, policy: string): Promise<void> {
  worker.kill('SIGSTOP');
  await until(async () => (await idsOn(policy)).length === 0, { what: 'the end of its leases' });
}

test('a process that was paused for too long takes its places again where there is room', async () => {
  const [policy, leaseMs] = ['paused', 2000];
  const [workers, ids] = await holders({ policy, limit: 2, leaseMs, count: 2 });
  await using _ = workers;
  const [worker] = workers.all as [Worker<Hold[]>];
  await pauseUntilFree(worker, policy);
  worker.kill('SIGCONT');
  await until(async () => (await idsOn(policy)).length === 2, { what: 'its places' });
  expect(await idsOn(policy)).toEqual(ids.toSorted());
  worker.send('release');
  expect(await worker.receive<Told>(), 'no place was lost').toEqual({ kind: 'released' });
  expect(await idsOn(policy)).toEqual([]);
});

test('else it is told that they are lost, and what it does then frees no place of others', async () => {
  const [policy, limit, leaseMs] = ['lost', 2, 2500];
  const most = watchRecord(policy);
  const [workers, ids] = await holders({ policy, limit, leaseMs, count: 2 });
  await using _ = workers;
  const [worker] = workers.all as [Worker<Hold[]>];
  await pauseUntilFree(worker, policy);
  const limiter = limiterOn(store, policy, limit, leaseMs);
  const leases = [await limiter.acquire('hot'), await limiter.acquire('hot')];
  const others = leases.map(({ decision }) => decision.id).toSorted();
  expect(leases.map(({ allowed }) => allowed)).toEqual([true, true]);
  worker.kill('SIGCONT');
  const lost = [await worker.receive<Told>(), await worker.receive<Told>()];
  expect(lost.map((told) => (told.kind === 'lost' ? told.id : told.kind)).toSorted()).toEqual(ids.toSorted());
  worker.send('release');
  expect(await worker.receive<Told>()).toEqual({ kind: 'released' });
  expect(await idsOn(policy), 'releasing what it lost frees nothing').toEqual(others);
  expect((await limiter.acquire('hot')).allowed).toBe(false);
  expect(await most()).toBe(limit);
  expect(leases.some(({ signal }) => signal.aborted)).toBe(false);
  await limiter.close();
});

test('a place that is released twice is freed once, whoever holds it by then', async () => {
  const [policy, leaseMs] = ['twice', 60_000];
  const [workers] = await holders({ policy, limit: 1, leaseMs, count: 1 });
  await using _ = workers;
  const limiter = limiterOn(store, policy, 1, leaseMs);
  workers.send('release');
  await workers.receive();
  const mine = await limiter.acquire('hot');
  workers.send('release');
  await workers.receive();
  expect(await idsOn(policy)).toEqual([mine.decision.id]);
  await limiter.close();
  expect(await idsOn(policy)).toEqual([]);
});

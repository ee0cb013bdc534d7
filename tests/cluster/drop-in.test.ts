import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.js';
import { until } from '../support/wait.js';
import { startWorkers, type Workers } from '../support/workers.js';
import { apps } from './drop-in-apps.js';
import type { Order, Outcome, Variant } from './drop-in-worker.js';

const PROCESSES = 2;
const LIMIT = 20;
const projects = Object.keys(apps);
/** The default time limit is 50 ms; the rest is what two busy processors add to a request over HTTP. */
const ANSWERED_MS = 550;

let cluster: Cluster;
let workers: Workers<void>;
beforeAll(async () => {
  cluster = await startCluster();
  const limits = { limit: LIMIT, windowMs: 600_000 };
  const args = { url: cluster.url, limits, processes: PROCESSES };
  workers = startWorkers<void>(PROCESSES, new URL('./drop-in-worker.ts', import.meta.url), args);
  await workers.receive();
});
afterAll(async () => {
  await workers?.stop();
  await cluster?.stop();
});

/** What both processes answered. */
async function ask(project: string, variant: Variant, client: string, times: number, isAtOnce = false) {
  const order: Order = { project, variant, client, times, isAtOnce };
  workers.send(order);
  const outcomes = await workers.receive<Outcome>();
  return {
    statuses: outcomes.flatMap(({ statuses }) => statuses),
    slowestMs: Math.max(...outcomes.map(({ slowestMs }) => slowestMs)),
  };
}

const count = (statuses: readonly number[], wanted: number): number =>
  statuses.filter((status) => status === wanted).length;

/** Every mode does what it says for every project, in time. */
async function expectModes(client: string): Promise<void> {
  for (const project of projects) {
    const local = await ask(project, 'local', client, LIMIT);
    const open = await ask(project, 'open', client, LIMIT + 5);
    const closed = await ask(project, 'closed', client, 3);
    const said = {
      local: [count(local.statuses, 200), count(local.statuses, 429)],
      open: count(open.statuses, 200),
      closed: count(closed.statuses, 503),
    };
    expect(said, project).toEqual({ local: [LIMIT, LIMIT], open: PROCESSES * (LIMIT + 5), closed: PROCESSES * 3 });
    expect(Math.max(local.slowestMs, open.slowestMs, closed.slowestMs), project).toBeLessThan(ANSWERED_MS);
  }
}

describe('two processes with the middleware of other projects, on three primaries with replicas', () => {
  test.each(projects)('%s admits together exactly the limit', async (project) => {
    for (const client of ['a', 'b', 'c', 'd']) {
      const { statuses } = await ask(project, 'patient', client, 40, true);
      expect([count(statuses, 200), count(statuses, 429)], client).toEqual([LIMIT, PROCESSES * 40 - LIMIT]);
    }
  });

  test('while the servers are frozen every request is answered in time, as its failure mode says', async () => {
    for (const node of cluster.nodes) node.freeze();
    try {
      await expectModes('frozen');
    } finally {
      for (const node of cluster.nodes) node.thaw();
    }
  });

  test('when they answer again, so does what was closed', async () => {
    for (const project of projects) {
      const back = async () => count((await ask(project, 'closed', 'back', 1)).statuses, 200) === PROCESSES;
      await until(back, { timeoutMs: 30_000, everyMs: 100, what: `${project} on the store` });
    }
  });

  test('with all servers gone it is the same as with frozen ones', async () => {
    await Promise.all(cluster.nodes.map((node) => node.kill()));
    await expectModes('gone');
  });
});

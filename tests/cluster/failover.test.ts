import { createLimiter } from 'comporta';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Child, type Ended, startChild } from '../chaos/child.js';
import { type Cluster, slotOf, startCluster } from '../support/cluster.js';
import type { Server } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';
import { type Call, type FailoverArgs, LIMIT, limitsOf } from './failover-limits.js';
import { monotonicUs } from './monotonic.js';
import { percentile, timesText } from './percentile.js';

const TIMEOUT_MS = 50;
const subjects = Array.from({ length: 30 }, (_, i) => `tenant-${i}`);

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ nodeTimeoutMs: 1000 });
});
afterAll(() => cluster?.stop());

interface Outage {
  readonly calls: readonly Call[];
  readonly ended: Ended;
  readonly onLost: ReadonlySet<string>;
  readonly failedUs: number;
  /** When another primary first named the replica as the owner of the lost slots. */
  readonly promotedUs: number;
}

/** Load from a process of its own while one primary is lost, until a while after its replica took over. */
async function outageOf(
  client: FailoverArgs['client'],
  policy: string,
  lose: (node: Server) => unknown,
): Promise<Outage> {
  const lost = await cluster.nodeForKey(`{${subjects[0]}}`);
  const owners = await Promise.all(
    subjects.map(async (subject) => [subject, await cluster.nodeForKey(`{${subject}}`)] as const),
  );
  const onLost = new Set(owners.filter(([, node]) => node === lost).map(([subject]) => subject));
  const other = owners.find(([, node]) => node !== lost)?.[1] as Server;
  const ports = owners.map(([, node]) => node.port);
  const child: Child<Call[]> = startChild(new URL('./failover-child.ts', import.meta.url), {
    client,
    url: `redis-cluster://${[...new Set(ports)].map((port) => `127.0.0.1:${port}`).join(',')}`,
    ports: [...new Set(ports)],
    policy,
    subjects,
    timeoutMs: TIMEOUT_MS,
    everyMs: 2,
  } satisfies FailoverArgs);
  await child.receive();
  await sleep(700);
  const failedUs = monotonicUs();
  await lose(lost);
  const slot = slotOf(`{${subjects[0]}}`);
  await until(async () => (await ownerPort(other, slot)) !== lost.port, { what: 'a promotion', everyMs: 5 });
  const promotedUs = monotonicUs();
  await sleep(2500);
  child.send('stop');
  return { calls: await child.result, ended: await child.ended, onLost, failedUs, promotedUs };
}

/** Who owns a slot as a node tells its clients. */
async function ownerPort(node: Server, slot: number): Promise<number | undefined> {
  const ranges = (await node.command('CLUSTER', 'SLOTS')) as unknown as [number, number, [string, number]][];
  return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
}

/** Degraded although the process could run: nothing but the store accounts for it. */
const isUnexplained = ({ cause, stalledMs }: Call): boolean =>
  cause !== undefined && (cause !== 'timeout' || stalledMs < TIMEOUT_MS / 3);

async function expectChargedOnce(policy: string, { calls, onLost, failedUs, promotedUs }: Outage): Promise<void> {
  const store = redisStore(cluster.url);
  const limiter = createLimiter({ policy, limits: limitsOf(), store, timeoutMs: 1000, onStoreFailure: 'closed' });
  for (const subject of subjects) {
    const mine = calls.filter((call) => call.subject === subject);
    const allowed = mine.filter((call) => call.allowed);
    const heardOf = onLost.has(subject) ? allowed.filter(({ sentUs }) => sentUs > promotedUs) : allowed;
    // Written, perhaps carried out, and not heard of: the time limit ended or the connection broke.
    const unheard = mine.filter(
      ({ cause, sentUs }) => cause === 'timeout' || (cause && Math.abs(sentUs - failedUs) < 1e5),
    );
    const decision = await until(async () => {
      const answer = await limiter.peek(subject);
      return answer.degraded === undefined && answer;
    });
    const charges = LIMIT - (decision.limits[0]?.remaining ?? 0);
    expect(charges, subject).toBeGreaterThanOrEqual(heardOf.length);
    expect(charges, subject).toBeLessThanOrEqual(allowed.length + unheard.length);
  }
  await limiter.close();
  await store.close();
}

describe.each<FailoverArgs['client']>(['url', 'ioredis'])('%s', (client) => {
  test.each([
    ['killed', (node: Server) => node.kill(), (node: Server) => node.start()],
    ['frozen', (node: Server) => node.freeze(), (node: Server) => node.thaw()],
  ])(
    'when a primary is %s, its subjects are soon decided by its replica and others never notice',
    async (word, lose, mend) => {
      const policy = `${client}-${word}`;
      const lost: Server[] = [];
      const outage = await outageOf(client, policy, (node) => {
        lost.push(node);
        return lose(node);
      }).finally(() => Promise.all(lost.map(mend)));
      const { calls, ended, onLost, failedUs, promotedUs } = outage;
      const affected = calls.filter(({ subject }) => onLost.has(subject));
      const healthy = calls.filter(({ subject }) => !onLost.has(subject));
      const back = affected.find(
        ({ cause, sentUs, tookMs }) => cause === undefined && sentUs + tookMs * 1000 > promotedUs,
      );
      const recoveryMs =
        back === undefined ? Number.POSITIVE_INFINITY : (back.sentUs + back.tookMs * 1000 - promotedUs) / 1000;
      const degraded = affected.filter(({ cause }) => cause !== undefined);
      console.log(
        `${policy}: ${calls.length} calls, ${timesText(calls.map(({ tookMs }) => tookMs))}; ` +
          `promoted after ${((promotedUs - failedUs) / 1000).toFixed(0)} ms, ` +
          `decided again ${recoveryMs.toFixed(0)} ms later; ` +
          `${degraded.length} of ${affected.length} degraded there, ${healthy.filter(({ cause }) => cause).length} of ${healthy.length} elsewhere`,
      );
      expect(onLost.size).toBeGreaterThan(3);
      expect(
        percentile(
          calls.map(({ tookMs, stalledMs }) => tookMs - stalledMs),
          0.99,
        ),
      ).toBeLessThan(TIMEOUT_MS + 10);
      // A few may be late on a machine that is busy; a dead shard that reached others would show in hundreds.
      const touched = healthy.filter(isUnexplained);
      expect(touched.length, JSON.stringify(touched.slice(0, 3))).toBeLessThan(0.03 * healthy.length);
      expect(degraded.length).toBeGreaterThan(0);
      expect(recoveryMs).toBeLessThan(2000);
      // Once decided again, it stays so, but for the same few.
      const relapsed = affected.filter((call) => isUnexplained(call) && call.sentUs > promotedUs + 2_000_000);
      expect(relapsed.length, JSON.stringify(relapsed.slice(0, 3))).toBeLessThan(0.03 * affected.length);
      expect(ended).toMatchObject({ code: 0, complaints: [] });
      expect(ended.afterMs).toBeLessThan(1500);
      await until(
        async () => [...(await cluster.views()).values()].filter(({ role }) => role === 'replica').length === 3,
        { what: 'the lost node back as a replica' },
      );
      await expectChargedOnce(policy, outage);
    },
  );
});

import { slidingWindow } from 'comporta';
import { createGate } from 'comporta/http';
import { redisStore } from 'comporta/redis';
import { expect, it } from 'vitest';
import { Alerts } from '../../packages/server/src/alerts/alerts.js';
import { readiness } from '../../packages/server/src/health/health.js';
import { StoreWatch } from '../../packages/server/src/health/store-watch.js';
import { slotOf, startCluster } from '../support/cluster.js';
import type { Server } from '../support/servers.js';
import { bodiesOf, fastClock, SECRET, startReceiver } from './alerts-support.js';
import { onCleanup, recordLog, until } from './gateway-support.js';

/** A subject of each primary. */
async function subjectsOf(primaries: readonly Server[], ownerOf: (slot: number) => Promise<Server>): Promise<string[]> {
  const found = new Map<Server, string>();
  for (let i = 0; found.size < primaries.length; i++) {
    const owner = await ownerOf(slotOf(`s${i}`));
    if (!found.has(owner)) found.set(owner, `s${i}`);
  }
  return primaries.map((node) => found.get(node) ?? '');
}

it('a dead shard beside healthy ones is told once, shows in readiness, and is told when it is back', async () => {
  const cluster = await startCluster({ replicas: 0 });
  onCleanup(() => cluster.stop());
  const [dead] = cluster.primaries as [Server, ...Server[]];
  const store = redisStore(cluster.url);
  await store.ready(10_000);
  const subjects = await subjectsOf(cluster.primaries, (slot) => cluster.nodeForSlot(slot));
  const hook = await startReceiver();
  const { log, lines } = recordLog();
  const limits = slidingWindow({ limit: 100_000, window: '1h' });
  const gate = createGate({ store, policies: [{ name: 'a', limits, timeoutMs: 500, onStoreFailure: 'closed' }] });
  const watch = new StoreWatch(store, log);
  const sinks = [{ kind: 'webhook', url: hook.origin, secret: SECRET }] as const;
  const config = { cooldown: 0, allowInsecure: true, sinks };
  const alerts = new Alerts({ config, instance: 'a', log, clock: fastClock(5) });
  watch.follow(gate);
  alerts.follow(gate);
  onCleanup(() => Promise.all([alerts.close(), gate.close(), store.close()]));
  const limiter = gate.limiters.get('a');
  const askAll = async (): Promise<boolean[]> => {
    const decisions = await Promise.all(subjects.map((subject) => limiter?.consume(subject)));
    return decisions.map((decision) => decision?.degraded !== undefined);
  };
  const ready = () => readiness({ store, isDraining: () => false, needsStore: () => true });
  expect(await askAll()).toEqual([false, false, false]);
  expect(await ready()).toEqual({ status: 'pass' });

  await dead.kill();
  const told = (): string[] => bodiesOf(hook).map(({ data }) => `${data.status} ${data.key}`);
  const breaker = `breaker.open:127.0.0.1:${dead.port}`;
  // The healthy shards answer all the time, which must not be taken for a recovery.
  await until('both alerts', async () => {
    expect((await askAll()).slice(1)).toEqual([false, false]);
    return hook.received.length >= 2;
  });
  expect(told().sort()).toEqual([`firing ${breaker}`, 'firing store.unavailable:a']);
  const startedMs = performance.now();
  await until('more than the time in which an end would be told', async () => {
    await askAll();
    return performance.now() - startedMs > 2500;
  });
  expect(told()).toHaveLength(2);
  expect(lines.filter((line) => line.includes('does not answer'))).toEqual([
    expect.stringContaining(`"node":"127.0.0.1:${dead.port}"`),
  ]);
  // Two of three shards are better than none: this process keeps its requests.
  expect(await ready()).toMatchObject({ status: 'warn', reason: expect.stringContaining(`${dead.port}`) });

  await dead.start();
  await dead.command('PING');
  await until('the end of both', async () => {
    await askAll();
    return hook.received.length >= 4;
  });
  expect(told().slice(2).sort()).toEqual([`resolved ${breaker}`, 'resolved store.unavailable:a']);
  expect(lines.filter((line) => line.includes('answers again'))).toHaveLength(1);
  await until('readiness', async () => (await ready()).status === 'pass');
});

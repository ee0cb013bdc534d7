import { createLimiter } from 'comporta';
import { ioredisClusterPreset, redisStore } from 'comporta/redis';
import { Cluster } from 'ioredis';
import { runChild } from '../chaos/child-body.js';
import { until } from '../support/wait.js';
import { type Call, type FailoverArgs, limitsOf } from './failover-limits.js';
import { LoopWatch, type Stall, stalledMs } from './loop-watch.js';
import { monotonicUs } from './monotonic.js';

await runChild(async (args: FailoverArgs, channel): Promise<Call[]> => {
  const source = args.client === 'url' ? args.url : clusterOf(args.ports);
  const store = redisStore(source);
  const { policy, timeoutMs } = args;
  const limiter = createLimiter({ policy, limits: limitsOf(), store, timeoutMs, onStoreFailure: 'closed' });
  for (const subject of args.subjects) {
    await until(async () => (await limiter.peek(subject)).degraded === undefined, { what: 'a decision of the store' });
  }
  const watch = new LoopWatch();
  const calls: Promise<Omit<Call, 'stalledMs'>>[] = [];
  const timer = setInterval(() => {
    const subject = args.subjects[calls.length % args.subjects.length] ?? '';
    const sentUs = monotonicUs();
    calls.push(
      limiter.consume(subject).then(({ allowed, degraded }) => ({
        subject,
        sentUs,
        tookMs: (monotonicUs() - sentUs) / 1000,
        allowed,
        ...degraded,
      })),
    );
  }, args.everyMs);
  channel.send('running');
  await channel.receive();
  clearInterval(timer);
  const all = await Promise.all(calls);
  const stalls = watch.stop();
  await limiter.close();
  await store.close();
  if (typeof source !== 'string') source.disconnect();
  return all.map((call) => ({ ...call, stalledMs: stalledDuring(stalls, call) }));
});

function clusterOf(ports: readonly number[]): Cluster {
  const cluster = new Cluster(
    ports.map((port) => ({ host: '127.0.0.1', port })),
    ioredisClusterPreset,
  );
  cluster.on('error', () => undefined);
  return cluster;
}

function stalledDuring(stalls: readonly Stall[], { sentUs, tookMs }: Omit<Call, 'stalledMs'>): number {
  return stalledMs(stalls, sentUs, sentUs + tookMs * 1000);
}

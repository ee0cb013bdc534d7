import { createLimiter, type Limiter, slidingWindow } from 'comporta';
import { describe, expect, test } from 'vitest';
import { slotOf, startCluster } from '../support/cluster.js';
import { selfView } from '../support/cluster-view.js';
import { installedKinds, type Server } from '../support/servers.js';
import { until } from '../support/wait.js';
import { clients } from './clients.js';

/** After the promotion: the client learns of it by asking, and connects. */
const RECOVERY_MAX_MS = 1000;

const decides = async (limiter: Limiter) => (await limiter.consume('a')).degraded === undefined;
const promoted = async (node: Server) => (await selfView(node)).role === 'primary';

const ofCluster = clients.filter(({ name }) => !name.includes('RESP2'));

describe.each(installedKinds())('the loss of a primary of a %s cluster', (kind) => {
  test.each(['kill', 'freeze'] as const)('%s: every client finds the promoted replica by itself', async (way) => {
    await using cluster = await startCluster({ kind });
    const primary = await cluster.nodeForSlot(slotOf('{a}'));
    const ports = cluster.primaries.map(({ port }) => port);
    const opened = await Promise.all(
      ofCluster.map(async ({ name, cluster: open }) => ({ name, ...(await open(ports)) })),
    );
    const limits = slidingWindow({ limit: 1_000_000, window: '1m' });
    const limiters = opened.map(({ store }) =>
      createLimiter({ policy: 'failover', limits, store, onStoreFailure: 'closed' }),
    );
    for (const limiter of limiters) await until(() => decides(limiter), { what: 'a decision' });
    await primary[way]();
    await until(() => promoted(cluster.partnerOf(primary)), { what: 'a promotion', timeoutMs: 20_000, everyMs: 5 });
    const promotedAtMs = performance.now();
    const takenMs = await Promise.all(
      limiters.map(async (limiter) => {
        await until(() => decides(limiter), { what: 'a decision again', timeoutMs: 20_000, everyMs: 5 });
        return Math.round(performance.now() - promotedAtMs);
      }),
    );
    const report = opened.map(({ name }, i) => `${name} ${takenMs[i]} ms`).join(', ');
    console.log(`${kind}, ${way}: decisions after the promotion: ${report}`);
    if (way === 'freeze') primary.thaw();
    await Promise.all(opened.map(({ close }) => close()));
    expect(Math.max(...takenMs), report).toBeLessThan(RECOVERY_MAX_MS);
  });
});

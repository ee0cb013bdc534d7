// Time of a decision over several subjects against that over one, on a cluster that is 10 ms away: proxies hold
// every byte back for 5 ms on its way in and out. Subjects stand in different slots, on different nodes.

import '../scripts/lib/typescript.mjs';
import { createLimiter, decideAll, decideEach, fixedWindow } from '../packages/comporta/dist/index.js';
import { redisStore } from '../packages/comporta/dist/redis.js';
import { roundsOr } from './lib/settings.mjs';
import { formatRatios } from './lib/stats.mjs';

const { startCluster, slotOf } = await import('../tests/support/cluster.ts');
const { startProxy } = await import('../tests/support/proxy.ts');
const { until } = await import('../tests/support/wait.ts');

const ROUNDS = roundsOr(15);
const CALLS = 20;
const DELAY_MS = 5;

const cluster = await startCluster({ replicas: 0 });
const proxies = await Promise.all(cluster.primaries.map((node) => startProxy(node)));
for (const [i, node] of cluster.primaries.entries()) {
  await node.command('CONFIG', 'SET', 'cluster-announce-port', String(proxies[i].port));
}
const ports = new Set(proxies.map(({ port }) => port));
for (const node of cluster.primaries) {
  await until(async () => (await node.command('CLUSTER', 'SLOTS')).every(([, , [, port]]) => ports.has(port)));
}
const store = redisStore(`redis-cluster://127.0.0.1:${proxies[0].port}`);
const limits = fixedWindow({ limit: 1_000_000, window: '1h' });
const limiter = createLimiter({ policy: 'p', limits, store, timeoutMs: 2000, onStoreFailure: 'closed' });
await store.ready(10_000);

/** Subjects that stand one by one on the nodes in turn. */
async function subjectsOf(count) {
  const found = [];
  for (let i = 0; found.length < count; i++) {
    const node = await cluster.nodeForSlot(slotOf(`{s${i}}`));
    if (node === cluster.primaries[found.length % cluster.primaries.length]) found.push(`s${i}`);
  }
  return found.map((subject) => ({ limiter, subject }));
}

async function msPerCall(call) {
  const start = performance.now();
  for (let i = 0; i < CALLS; i++) {
    const decisions = await call();
    const failed = decisions.find(({ allowed }) => !allowed);
    if (failed) throw new Error(failed.degraded?.detail ?? failed.reason);
  }
  return (performance.now() - start) / CALLS;
}

const all = (checks) => async () => (await decideAll(checks)).decisions;
const checks = await subjectsOf(100);
const cases = {
  'two subjects': all(checks.slice(0, 2)),
  'four subjects': all(checks.slice(0, 4)),
  'a batch of 100': async () => decideEach(checks),
};
const one = all(checks.slice(0, 1));
await msPerCall(cases['a batch of 100']);
for (const proxy of proxies) proxy.delay(DELAY_MS);
console.log(`Several subjects at once / one subject, ${2 * DELAY_MS} ms away, ${ROUNDS} interleaved rounds`);
let two = 0;
for (const [name, several] of Object.entries(cases)) {
  const figures = { ratios: [], 'one ms': [], 'several ms': [] };
  for (let round = 0; round < ROUNDS; round++) {
    const a = await msPerCall(one);
    const b = await msPerCall(several);
    figures.ratios.push(b / a);
    figures['one ms'].push(a);
    figures['several ms'].push(b);
  }
  const { ratios, ...times } = figures;
  const median = formatRatios(name, ratios, times);
  if (name === 'two subjects') two = median;
}
console.log(`two subjects: median ratio ${two.toFixed(2)} (goal: at most 1.3; one after the other it would be 2)`);
await limiter.close();
await store.close();
await Promise.all(proxies.map((proxy) => proxy.close()));
await cluster.stop();
process.exit(0);

// One hot subject on a cluster of three masters, whole and in eight parts: how its load lies on the masters; and, in a
// time of its own, how much is refused too early.

import { createLimiter, fixedWindow, memoryStore, splitLosses, tokenBucket } from '../packages/comporta/dist/index.js';
import { redisStore } from '../packages/comporta/dist/redis.js';
import { FakeClock } from '../packages/comporta/dist/testing/index.js';
import { keepGoing } from './lib/calls.mjs';
import { startCluster } from './lib/cluster.mjs';
import { roundsOr } from './lib/settings.mjs';
import { formatRatios, median } from './lib/stats.mjs';

const ROUNDS = roundsOr(5);
const ROUND_MS = 300;
const PARTS = 8;
const LIMIT = 10_000_000;

const cluster = await startCluster();
const limits = tokenBucket({ capacity: LIMIT, refill: LIMIT, every: '1s' });
const stores = { batched: redisStore(cluster.url), single: redisStore(cluster.url, { batch: false }) };
await Promise.all(Object.values(stores).map((store) => store.ready(5000)));
const of = (policy, store, options) => createLimiter({ policy, limits, store, timeoutMs: 2000, ...options });
const split = { parts: PARTS };

/** Processor time of each master since it was asked last, in µs, and the scripts that all of them ran. */
let before;
async function mastersSince() {
  const now = await Promise.all(
    cluster.clients.map(async (client) => {
      const [cpu, stats] = [await client.info('cpu'), await client.info('commandstats')];
      const seconds = ['user', 'sys'].map((kind) => Number(new RegExp(`used_cpu_${kind}:([\\d.]+)`).exec(cpu)[1]));
      return { us: 1e6 * (seconds[0] + seconds[1]), calls: Number(/evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0) };
    }),
  );
  const since = now.map(({ us, calls }, i) => ({
    us: us - (before?.[i].us ?? 0),
    calls: calls - (before?.[i].calls ?? 0),
  }));
  before = now;
  return { us: since.map(({ us }) => us), calls: since.reduce((sum, { calls }) => sum + calls, 0) };
}

async function measured(limiter, inFlight) {
  await mastersSince();
  const load = await keepGoing(() => limiter.consume('hot'), inFlight, ROUND_MS);
  const { us, calls } = await mastersSince();
  return { ...load, busiestUs: Math.max(...us) / load.calls, us, scripts: calls / load.calls };
}

/** Processor time of all masters for a decision, in µs. */
const allUs = ({ us, calls }) => us.reduce((sum, each) => sum + each, 0) / calls;

async function compare(title, store, inFlight) {
  const sides = { whole: of('whole', store, {}), [`${PARTS} parts`]: of('parts', store, { split }) };
  const figures = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const [side, limiter] of Object.entries(sides)) {
      const figure = await measured(limiter, inFlight);
      if (round >= 0) figures[side].push(figure);
    }
  }
  console.log(
    `${title}, ${inFlight} in flight, ${ROUNDS} interleaved rounds: CPU of the busiest master / that when whole`,
  );
  for (const [side, rounds] of Object.entries(figures)) {
    const ratios = rounds.map(({ busiestUs }, i) => busiestUs / figures.whole[i].busiestUs);
    formatRatios(side, ratios, {
      'busiest us a decision': rounds.map(({ busiestUs }) => busiestUs),
      'all masters us': rounds.map(allUs),
      'own CPU us': rounds.map(({ cpuUs }) => cpuUs),
      'k/s': rounds.map(({ perSecond }) => perSecond / 1000),
      'calls a decision': rounds.map(({ scripts }) => scripts),
    });
    const work = rounds.map((round, i) => allUs(round) / allUs(figures.whole[i]));
    const shares = [0, 1, 2].map((i) =>
      median(rounds.map(({ us }) => (100 * us[i]) / us.reduce((sum, each) => sum + each, 0))),
    );
    const words = shares.map((share) => `${share.toFixed(0)} %`).join(', ');
    console.log(`    all masters together / when whole ${median(work).toFixed(2)}; shares of the masters: ${words}`);
  }
  await Promise.all(Object.values(sides).map((limiter) => limiter.close()));
}

await compare('One call for each decision', stores.single, 64);
await compare('Decisions go together', stores.batched, 64);
await compare('Decisions go together', stores.batched, 1024);
await compare('One after the other', stores.batched, 1);

await Promise.all(Object.values(stores).map((store) => store.close()));
await cluster.stop();

/** A store in memory that passes for one elsewhere: only those are split. */
function elsewhere(memory) {
  const bind = (plan) => {
    const there = memory.bind(plan);
    const operations = ['consume', 'peek', 'refund', 'reset', 'act', 'force'];
    return Object.fromEntries(operations.map((name) => [name, (...given) => there[name](...given)]));
  };
  return { ...memory, kind: 'redis', bind };
}

const WINDOW_MS = 1000;
const PROCESSES = 4;

/** For each window which process every request comes to; as many come as chance brings, on average so many limits. */
function arrivals(limit, load) {
  return Array.from({ length: Math.ceil(400_000 / limit) }, () => {
    const processes = [];
    let at = -Math.log(Math.random());
    while (at < limit * load) {
      processes.push(Math.floor(Math.random() * PROCESSES));
      at -= Math.log(Math.random());
    }
    return processes;
  });
}

/** Part of the limit that goes unused, on average over some windows. */
async function unused(limit, windows, options) {
  const clock = new FakeClock();
  const store = elsewhere(memoryStore({ clock }));
  const window = fixedWindow({ limit, window: WINDOW_MS });
  const limiters = Array.from({ length: PROCESSES }, () =>
    createLimiter({ policy: 'p', limits: window, store, onStoreFailure: 'closed', ...options }),
  );
  let admitted = 0;
  for (const processes of windows) {
    for (const process of processes) if ((await limiters[process].decide('hot')).allowed) admitted++;
    clock.advance(WINDOW_MS);
  }
  return 1 - admitted / (windows.length * limit);
}

console.log(
  `\nA window, ${PROCESSES} processes, arrivals by chance: part of the limit that goes unused, whole and in parts`,
);
const percent = (part) => `${(100 * part).toFixed(2)} %`;
for (const [limit, parts] of [
  [10_000, 8],
  [1000, 8],
  [128, 8],
  [10_000, 64],
]) {
  const [{ loss }] = splitLosses(fixedWindow({ limit, window: WINDOW_MS }), { parts });
  const words = [];
  for (const load of [1, 1.1, 1.5]) {
    const windows = arrivals(limit, load);
    const [whole, inParts] = [await unused(limit, windows, {}), await unused(limit, windows, { split: { parts } })];
    words.push(`load ${load}: ${percent(whole)}, ${percent(inParts)}`);
  }
  console.log(`  ${limit} in ${parts} parts, at most ${percent(loss)}: ${words.join('; ')}`);
}
process.exit(0);

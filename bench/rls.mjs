// What the rate limit service costs: Node's HTTP/2 and the gRPC library echoing bytes, the whole service on memory, on
// one Redis and on a cluster of three, and envoyproxy/ratelimit on the same Redis where it is installed
// (`node scripts/install-envoy-ratelimit.mjs`), in turns.
//   npm run build && node bench/rls.mjs [--rounds 7] [--seconds 2] [--connections 2] [--inflight 64] [--only TEXT]
// Prints calls per second relative to the gRPC library alone, server CPU per call, decisions per second of one
// processor, and how long calls took.
//   node bench/rls.mjs --inside
// Prints what a call costs inside the process, without gRPC, by its parts.
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { findRatelimit } from '../scripts/lib/find-envoy-ratelimit.mjs';
import { cpuOf, startServer } from './lib/http-load.mjs';
import { startRedis } from './lib/redis.mjs';
import { DOMAIN, USERS } from './lib/rls-domain.mjs';
import { measureInside } from './lib/rls-inside.mjs';
import { frameOf, loadRls } from './lib/rls-load.mjs';
import { startPeer } from './lib/rls-peer.mjs';
import { numbersOf } from './lib/settings.mjs';
import { formatRatios, median } from './lib/stats.mjs';

register('../scripts/lib/typescript-hooks.mjs', import.meta.url);
const { startCluster } = await import('../tests/support/cluster.ts');

const [rounds, seconds, connections, inFlight, values] = numbersOf(
  { rounds: 7, seconds: 2, connections: 2, inflight: 64 },
  { only: { type: 'string', default: '' }, inside: { type: 'boolean', default: false } },
);
const frames = Array.from({ length: USERS }, (_, i) => frameOf(DOMAIN.domain, [['user', `user-${i}`]]));
if (values.inside) {
  for (const mode of ['compatible', 'strict']) measureInside(mode, frames, rounds);
  process.exit(0);
}

let next = 0;
const options = {
  connections,
  inFlight,
  seconds,
  frame: () => frames[next++ % USERS],
};

const redis = await startRedis();
const cluster = await startCluster({ replicas: 0 });
const redisUrl = `redis://127.0.0.1:${redis.port}`;
const script = fileURLToPath(new URL('lib/rls-server.mjs', import.meta.url));
const ours = (environment) => () => startServer(script, environment);
const path = findRatelimit();
const theirs = (type, url) => () => startPeer(path, { type, url });
const all = {
  'HTTP/2 alone': ours({ BENCH_KIND: 'http2' }),
  'gRPC library alone': ours({ BENCH_KIND: 'grpc' }),
  'compatible, memory': ours({ BENCH_STORE: 'memory' }),
  'strict, memory': ours({ BENCH_STORE: 'memory', BENCH_MODE: 'strict' }),
  'compatible, Redis': ours({ BENCH_STORE: redisUrl }),
  'strict, Redis': ours({ BENCH_STORE: redisUrl, BENCH_MODE: 'strict' }),
  'compatible, cluster': ours({ BENCH_STORE: cluster.url }),
  ...(path !== undefined && {
    'ratelimit in Go, Redis': theirs('SINGLE', `127.0.0.1:${redis.port}`),
    'ratelimit in Go, cluster': theirs('CLUSTER', cluster.url.replace('redis-cluster://', '')),
  }),
};
if (path === undefined) console.log('envoyproxy/ratelimit is left out: node scripts/install-envoy-ratelimit.mjs\n');
const [WARM_CALLS, WARM_RUNS_MAX] = [20_000, 5];
const REFERENCE = 'gRPC library alone';
const names = Object.keys(all).filter((name) => name === REFERENCE || name.includes(values.only));

const cpuUsOf = (server) => server.cpuUs?.() ?? cpuOf(server);

async function measure(server) {
  const before = await cpuUsOf(server);
  const { perSecond, tookMs, statuses } = await loadRls(server.port, options);
  const failed = [...statuses].filter(([status]) => status !== '0');
  if (failed.length > 0) throw new Error(`calls failed: ${JSON.stringify(failed)}`);
  const at = (share) => tookMs[Math.floor(tookMs.length * share)];
  return { perSecond, cpuUs: ((await cpuUsOf(server)) - before) / tookMs.length, p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Until its code is compiled for speed, which takes calls and not time. */
async function warm(server) {
  let calls = 0;
  for (let run = 0; run < WARM_RUNS_MAX && calls < WARM_CALLS; run++) {
    calls += (await loadRls(server.port, options)).tookMs.length;
  }
}

const servers = {};
for (const name of names) servers[name] = await all[name]();
for (const name of names) await warm(servers[name]);
const results = Object.fromEntries(names.map((name) => [name, []]));
for (let round = 0; round < rounds; round++) {
  // Each round begins elsewhere, so that what drifts drifts for all.
  for (const i of names.keys()) {
    const name = names[(i + round) % names.length];
    results[name].push(await measure(servers[name]));
  }
}
console.log(`calls per second / ${REFERENCE}, ${options.inFlight} in flight on ${options.connections} connections`);
for (const name of names) {
  const of = (key) => results[name].map((result) => result[key]);
  const ratios = (key) => results[name].map((result, i) => result[key] / results[REFERENCE][i][key]);
  const figures = { 'calls/s': of('perSecond'), 'µs CPU': of('cpuUs'), 'p50 ms': of('p50Ms'), 'p99 ms': of('p99Ms') };
  formatRatios(name, ratios('perSecond'), figures);
  // What others do on the machine only ever adds: the best round says most of the program.
  const [least, most] = [Math.min(...of('cpuUs')), Math.max(...of('perSecond'))];
  const ofReference = Math.max(...results[REFERENCE].map(({ perSecond }) => perSecond));
  const ofCpu = results[name].map(({ cpuUs }, i) => results[REFERENCE][i].cpuUs / cpuUs);
  const perCpuSecond = (cpuUs) => Math.round(1e6 / cpuUs);
  console.log(
    `    best round: ${least.toFixed(1)} µs CPU, ${most} calls/s, ` +
      `${(most / ofReference).toFixed(2)} of ${REFERENCE}; ` +
      `decisions per second of one processor: ${perCpuSecond(median(of('cpuUs')))}, at best ` +
      `${perCpuSecond(least)}, ${median(ofCpu).toFixed(2)} of ${REFERENCE} in the same seconds`,
  );
}
for (const { child } of Object.values(servers)) {
  child.removeAllListeners('exit');
  child.kill('SIGKILL');
}
await redis.stop();
await cluster.stop();
// Connections of the servers' own.
process.exit(0);

// What the rate limit service costs: Node's HTTP/2 and the gRPC library echoing bytes, and the whole service on memory,
// on one Redis and on a cluster of three, in turns.
//   npm run build && node bench/rls.mjs [--rounds 7] [--seconds 2] [--connections 2] [--inflight 64]
// Prints calls per second relative to the gRPC library alone, server CPU per call, and how long calls took.
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cpuOf, startServer } from './lib/http-load.mjs';
import { startRedis } from './lib/redis.mjs';
import { frameOf, loadRls } from './lib/rls-load.mjs';
import { formatRatios } from './lib/stats.mjs';

register('../scripts/lib/typescript-hooks.mjs', import.meta.url);
const { startCluster } = await import('../tests/support/cluster.ts');

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '2' },
    inflight: { type: 'string', default: '64' },
    only: { type: 'string', default: '' },
  },
});
const rounds = Number(process.env.BENCH_ROUNDS ?? values.rounds);
const USERS = 10_000;
const frames = Array.from({ length: USERS }, (_, i) => frameOf('shop', [['user', `user-${i}`]]));
let next = 0;
const options = {
  connections: Number(values.connections),
  inFlight: Number(values.inflight),
  seconds: Number(values.seconds),
  frame: () => frames[next++ % USERS],
};

const redis = await startRedis();
const cluster = await startCluster({ replicas: 0 });
const redisUrl = `redis://127.0.0.1:${redis.port}`;
const all = {
  'HTTP/2 alone': { BENCH_KIND: 'http2' },
  'gRPC library alone': { BENCH_KIND: 'grpc' },
  'compatible, memory': { BENCH_STORE: 'memory' },
  'strict, memory': { BENCH_STORE: 'memory', BENCH_MODE: 'strict' },
  'compatible, Redis': { BENCH_STORE: redisUrl },
  'strict, Redis': { BENCH_STORE: redisUrl, BENCH_MODE: 'strict' },
  'compatible, cluster': { BENCH_STORE: cluster.url },
};
const REFERENCE = 'gRPC library alone';
const names = Object.keys(all).filter((name) => name === REFERENCE || name.includes(values.only));

async function measure(server) {
  const before = await cpuOf(server);
  const { perSecond, tookMs, statuses } = await loadRls(server.port, options);
  const failed = [...statuses].filter(([status]) => status !== '0');
  if (failed.length > 0) throw new Error(`calls failed: ${JSON.stringify(failed)}`);
  const at = (share) => tookMs[Math.floor(tookMs.length * share)];
  return { perSecond, cpuUs: ((await cpuOf(server)) - before) / tookMs.length, p50Ms: at(0.5), p99Ms: at(0.99) };
}

const script = fileURLToPath(new URL('lib/rls-server.mjs', import.meta.url));
const servers = {};
for (const name of names) servers[name] = await startServer(script, all[name]);
for (const name of names) await measure(servers[name]);
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
  console.log(
    `    best round: ${least.toFixed(1)} µs CPU, ${most} calls/s, ${(most / ofReference).toFixed(2)} of ${REFERENCE}`,
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

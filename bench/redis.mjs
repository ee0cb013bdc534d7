// Decisions per second through the whole library against raw EVALSHA of the same script on the same kind of client.

import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { compose } from '../packages/comporta/dist/algorithms/compose.js';
import { createLimiter, tokenBucket } from '../packages/comporta/dist/index.js';
import { ioredisPreset, nodeRedisPreset, redisStore } from '../packages/comporta/dist/redis.js';
import { startRedis } from './lib/redis.mjs';
import { roundsOr } from './lib/settings.mjs';
import { formatRatios, median } from './lib/stats.mjs';

const ROUNDS = roundsOr(9);
const ROUND_MS = 1000;
const IN_FLIGHT = 256;
const KEYS = 10_000;
const limit = tokenBucket({ capacity: 100, refill: 10, every: '1s' });
const script = compose('consume', [limit]);
const args = ['', '1', ...limit.args.map(String)];

/** Keeps IN_FLIGHT calls going for a while; calls per second and event-loop CPU per call. */
async function perSecond(call) {
  let calls = 0;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const worker = async (i) => {
    for (let n = i; performance.now() - start < ROUND_MS; n += IN_FLIGHT) {
      await call(n % KEYS);
      calls++;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, i) => worker(i)));
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: calls / ((performance.now() - start) / 1000), cpuUs: (user + system) / calls };
}

async function compare(name, raw, store) {
  const limiter = createLimiter({ policy: 'p', limits: limit, store, timeoutMs: 2000 });
  const limited = async (n) => {
    const decision = await limiter.consume(`s${n}`);
    if (decision.degraded) throw new Error(decision.degraded.detail);
  };
  const figures = { ratios: [], ours: [], raw: [], oursCpuUs: [], rawCpuUs: [] };
  for (let round = -1; round < ROUNDS; round++) {
    const b = await perSecond((n) => raw(`cmp1:{r${n}}:p:tokenBucket:tb`));
    const a = await perSecond(limited);
    if (round < 0) continue;
    figures.ratios.push(a.perSecond / b.perSecond);
    figures.ours.push(a.perSecond / 1000);
    figures.raw.push(b.perSecond / 1000);
    figures.oursCpuUs.push(a.cpuUs);
    figures.rawCpuUs.push(b.cpuUs);
  }
  formatRatios(name, figures.ratios, {
    'comporta k/s': figures.ours,
    'raw k/s': figures.raw,
    'CPU us': figures.oursCpuUs,
    'raw CPU us': figures.rawCpuUs,
  });
  return median(figures.ratios);
}

const server = await startRedis();
const nodeRedis = createClient({ url: `redis://127.0.0.1:${server.port}`, ...nodeRedisPreset });
await nodeRedis.connect();
const ioredis = new Redis({ port: server.port, host: '127.0.0.1', ...ioredisPreset });
await new Promise((resolve) => ioredis.once('ready', resolve));
await nodeRedis.sendCommand(['SCRIPT', 'LOAD', script.text]);

console.log(
  `One Redis server, ${IN_FLIGHT} in flight, ${KEYS} subjects: comporta / raw EVALSHA of the same script, ${ROUNDS} interleaved rounds`,
);
await compare(
  'node-redis 6',
  (key) => nodeRedis.sendCommand(['EVALSHA', script.sha, '1', key, ...args]),
  redisStore(nodeRedis),
);
await compare('ioredis 6', (key) => ioredis.call('EVALSHA', script.sha, '1', key, ...args), redisStore(ioredis));
nodeRedis.destroy();
ioredis.disconnect();
await server.stop();

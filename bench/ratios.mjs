// `npm run bench ratios`: what the speed of this library rests on, as ratios that a test holds (tests/speed). With the
// name of one as its argument it prints that ratio alone.
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { compose } from '../packages/comporta/dist/algorithms/compose.js';
import { createLimiter, tokenBucket } from '../packages/comporta/dist/index.js';
import { ioredisPreset, redisStore } from '../packages/comporta/dist/redis.js';
import { bareMap } from './lib/bare-map.mjs';
import { keepGoing } from './lib/calls.mjs';
import { startRedis } from './lib/redis.mjs';
import { roundsOr } from './lib/settings.mjs';
import { formatRatios, median } from './lib/stats.mjs';

const ROUNDS = roundsOr(7);
const ROUND_MS = 100;
const CALLS = 200_000;
const IN_FLIGHT = 64;
const vast = tokenBucket({ capacity: 10_000_000, refill: 10_000_000, every: '1s' });

/** Ratios of rounds in which the two sides run one after the other; a round before them warms up. */
async function ratiosOf(measure, of, to) {
  const ratios = [];
  for (let round = -1; round < ROUNDS; round++) {
    const [ours, theirs] = [await measure(of), await measure(to)];
    if (round >= 0) ratios.push(ours / theirs);
  }
  return ratios;
}

/** Calls in a second of processor time. */
function perCpuSecond(call) {
  const subjects = Array.from({ length: 10_000 }, (_, i) => `subject-${i}`);
  const cpu = process.cpuUsage();
  for (let i = 0; i < CALLS; i++) call(subjects[i % subjects.length]);
  const { user, system } = process.cpuUsage(cpu);
  return (CALLS / (user + system)) * 1e6;
}

const speed = (inFlight) => async (call) => (await keepGoing(call, inFlight, ROUND_MS)).perSecond;
const perCpu = (inFlight) => async (call) => 1 / (await keepGoing(call, inFlight, ROUND_MS)).cpuUs;

/** Of a hot subject on one Redis server: each side a policy of its own. */
async function onRedis(measure, sidesOf) {
  const server = await startRedis();
  const ioredis = new Redis({ port: server.port, host: '127.0.0.1', ...ioredisPreset });
  await once(ioredis, 'ready');
  let policies = 0;
  const consume = (limits, { batch = true, ...options }) => {
    const store = redisStore(ioredis, { batch });
    const policy = `p${policies++}`;
    const limiter = createLimiter({ policy, limits, store, timeoutMs: 2000, onStoreFailure: 'closed', ...options });
    return async () => {
      const { degraded } = await limiter.consume('hot');
      if (degraded) throw new Error(degraded.detail);
    };
  };
  const ratios = await ratiosOf(measure, ...(await sidesOf(consume, ioredis)));
  ioredis.disconnect();
  await server.stop();
  return ratios;
}

/** One EVALSHA for each call, of the very script. */
async function bareCall(ioredis) {
  const { text, sha } = compose('consume', [vast]);
  await ioredis.script('LOAD', text);
  return () => ioredis.evalsha(sha, 1, 'cmp1:{hot}:bare:tokenBucket:tb', '', '1', ...vast.args);
}

const RATIOS = {
  memory: () => {
    const limiter = createLimiter({ policy: 'p', limits: tokenBucket({ capacity: 100, refill: 10, every: '1s' }) });
    return ratiosOf(perCpuSecond, (subject) => limiter.decide(subject), bareMap());
  },
  batch: () => onRedis(speed(IN_FLIGHT), (consume) => [consume(vast, {}), consume(vast, { batch: false })]),
  hold: () => {
    const few = tokenBucket({ capacity: 100, refill: 100, every: '1h' });
    return onRedis(perCpu(IN_FLIGHT), (consume) => [consume(few, { hold: '1m' }), consume(few, { hold: false })]);
  },
  lease: () => {
    const lease = { maxOvershoot: 100, lasts: '100ms' };
    return onRedis(speed(1), (consume) => [consume(vast, { lease, instances: 1 }), consume(vast, {})]);
  },
  client: () => onRedis(perCpu(IN_FLIGHT), async (consume, ioredis) => [consume(vast, {}), await bareCall(ioredis)]),
};

const [asked] = process.argv.slice(2);
if (asked !== undefined) console.log(median(await RATIOS[asked]()));
else for (const [name, ratios] of Object.entries(RATIOS)) formatRatios(name, await ratios(), {});
process.exit(0);

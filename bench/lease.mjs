// A hot subject that is admitted: what a decision costs, and how often Redis is asked, with leases and without.

import { Redis } from 'ioredis';
import { createLimiter, tokenBucket } from '../packages/comporta/dist/index.js';
import { ioredisPreset, redisStore } from '../packages/comporta/dist/redis.js';
import { keepGoing, paced, scriptsRun } from './lib/calls.mjs';
import { requireOfPeers } from './lib/peers.mjs';
import { startRedis } from './lib/redis.mjs';
import { roundsOr } from './lib/settings.mjs';
import { formatRatios, median } from './lib/stats.mjs';

const ROUNDS = roundsOr(5);
const ROUND_MS = 300;
const UNITS = 100;
const LIMIT = 10_000_000;
const COLD = 10_000;
const RATE = 10_000;
const LOADS = [0.5, 0.95, 1.5, 5];

const server = await startRedis();
const ioredis = new Redis({ port: server.port, host: '127.0.0.1', ...ioredisPreset });
await new Promise((resolve) => ioredis.once('ready', resolve));
const store = redisStore(ioredis);
const limits = tokenBucket({ capacity: LIMIT, refill: LIMIT, every: '1s' });
const of = (policy, options) => createLimiter({ policy, limits, store, timeoutMs: 2000, ...options });
// One process: the number that is shared is known at once.
const lease = { maxOvershoot: UNITS, lasts: '100ms' };
const leased = of('leased', { lease, instances: 1 });
const large = of('large', { lease: { ...lease, maxOvershoot: 10 * UNITS }, instances: 1 });
const plain = of('plain', {});

/** Keeps so many calls going for a while. */
async function measure(call, inFlight) {
  await scriptsRun(ioredis);
  const { calls, ...figures } = await keepGoing(call, inFlight, ROUND_MS);
  return { ...figures, scripts: (await scriptsRun(ioredis)) / calls };
}

/** The exact peer of bench/peers-lib that does most, where it is installed. */
function peer() {
  const requirePeer = requireOfPeers();
  if (requirePeer === undefined) return {};
  const { RateLimiterRedis } = requirePeer('rate-limiter-flexible');
  const flexible = new RateLimiterRedis({ storeClient: ioredis, keyPrefix: 'peer', points: LIMIT, duration: 1 });
  return { 'rate-limiter-flexible': () => flexible.consume('hot').catch(() => undefined) };
}

async function compare(title, inFlight, sides) {
  const figures = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const [side, call] of Object.entries(sides)) {
      const figure = await measure(call, inFlight);
      if (round >= 0) figures[side].push(figure);
    }
  }
  console.log(
    `${title}, ${inFlight} in flight, ${ROUNDS} interleaved rounds: decisions a second / those without a lease`,
  );
  const own = figures['no lease'];
  for (const [side, rounds] of Object.entries(figures)) {
    const ratios = rounds.map(({ perSecond }, i) => perSecond / own[i].perSecond);
    const absolute = {
      'k/s': rounds.map(({ perSecond }) => perSecond / 1000),
      'CPU us': rounds.map(({ cpuUs }) => cpuUs),
      'scripts a decision': rounds.map(({ scripts }) => scripts),
    };
    formatRatios(side, ratios, absolute);
  }
  return (side) => median(figures[side].map(({ cpuUs }) => cpuUs));
}

const hot = {
  'no lease': () => plain.consume('hot'),
  [`lease of ${UNITS}`]: () => leased.consume('hot'),
  [`lease of ${UNITS}, decide`]: () => leased.decide('hot'),
  [`lease of ${10 * UNITS}`]: () => large.consume('hot'),
  ...peer(),
};
for (const inFlight of [1, 64]) await compare('One hot subject', inFlight, hot);

let next = 0;
const cold = (limiter) => () => limiter.consume(`cold${next++ % COLD}`);
const sides = { 'no lease': cold(plain), 'with leases': cold(leased) };
const cpuOf = await compare(`\n${COLD} subjects, none of them hot`, 64, sides);
console.log(`  CPU of a decision with leases / without: ${(cpuOf('with leases') / cpuOf('no lease')).toFixed(2)}`);

console.log(
  `\nOne hot subject, ${RATE} decisions a second at a steady pace: the middle of ${ROUNDS} interleaved rounds`,
);
const steady = { 'no lease': [], [`lease of ${UNITS}`]: [] };
for (let round = -1; round < ROUNDS; round++) {
  for (const side of Object.keys(steady)) {
    const limiter = side === 'no lease' ? plain : leased;
    const figures = await paced(ioredis, () => limiter.decide('hot'), RATE, ROUND_MS);
    if (round >= 0) steady[side].push(figures);
  }
}
for (const [side, rounds] of Object.entries(steady)) {
  const of = (figure) => median(rounds.map(figure));
  const after = (part) => of(({ tookUs }) => tookUs[Math.floor(tookUs.length * part)]).toFixed(1);
  const waited = of(({ waited, asked }) => (100 * waited) / asked).toFixed(1);
  const words = [`p50 ${after(0.5)} us, p99 ${after(0.99)} us`, `${waited} % waited`];
  console.log(`  ${side.padEnd(16)} ${words.join(', ')}, ${of(({ calls }) => calls).toFixed(3)} scripts a decision`);
}

console.log(
  `\nA bucket of ${RATE} a second that begins empty, one process: scripts run a decision, and what was admitted`,
);
for (const load of LOADS) {
  const sides = { 'no lease': {}, 'lease of 1 %': { lease: { maxOvershoot: '1%' }, instances: 1 } };
  const words = [];
  for (const [side, options] of Object.entries(sides)) {
    const bucket = tokenBucket({ capacity: RATE, refill: RATE, every: '1s' });
    const shared = { store, timeoutMs: 2000, onStoreFailure: 'closed' };
    const limiter = createLimiter({
      policy: `${side.replace(/\W/g, '')}${load}`,
      limits: bucket,
      ...shared,
      ...options,
    });
    await limiter.charge('hot', RATE);
    const { calls, admitted } = await paced(ioredis, () => limiter.decide('hot'), load * RATE, 1000);
    words.push(`${side} ${calls.toFixed(3)} calls, ${admitted} a second`);
    await limiter.close();
  }
  console.log(`  ${load} times the rate: ${words.join('; ')}`);
}

await Promise.all([leased, large, plain].map((limiter) => limiter.close()));
ioredis.disconnect();
await server.stop();
process.exit(0);

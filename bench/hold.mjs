// A hot subject that is refused: what a decision costs, and how often Redis is asked, with the hold and without it.

import { Redis } from 'ioredis';
import { createLimiter, tokenBucket } from '../packages/comporta/dist/index.js';
import { ioredisPreset, redisStore } from '../packages/comporta/dist/redis.js';
import { keepGoing, paced } from './lib/calls.mjs';
import { requireOfPeers } from './lib/peers.mjs';
import { startRedis } from './lib/redis.mjs';
import { roundsOr } from './lib/settings.mjs';
import { formatRatios, median } from './lib/stats.mjs';

const ROUNDS = roundsOr(5);
const ROUND_MS = 400;
const IN_FLIGHT = 64;
const SECONDS = 2;
const ADMITTED = 100;
const OVERLOAD = 5;
const RATES = [20, 50, 100, 200, 400];

const requirePeer = requireOfPeers();
const server = await startRedis();
const ioredis = new Redis({ port: server.port, host: '127.0.0.1', ...ioredisPreset });
await new Promise((resolve) => ioredis.once('ready', resolve));
const store = redisStore(ioredis);
const bucket = (rate) => tokenBucket({ capacity: rate, refill: rate, every: '1s' });
const limiterOf = (policy, rate, options) =>
  createLimiter({ policy, limits: bucket(rate), store, timeoutMs: 2000, onStoreFailure: 'closed', ...options });

/** The peers of bench/peers-lib that remember refusals, where they are installed: calls that end when decided. */
async function peers(name, windowMs) {
  if (requirePeer === undefined) return {};
  const { RateLimiterRedis } = requirePeer('rate-limiter-flexible');
  const { upstash } = await import('./peers-lib/upstash.mjs');
  const points = { points: ADMITTED, inMemoryBlockOnConsumed: ADMITTED };
  const settings = { storeClient: ioredis, keyPrefix: name, duration: windowMs / 1000, ...points };
  const flexible = new RateLimiterRedis(settings);
  const limiting = (await upstash('fixedWindow')({ ports: [server.port] }))({ name, limit: ADMITTED, windowMs });
  return {
    'rate-limiter-flexible, inMemoryBlock': () => flexible.consume('hot').catch(() => undefined),
    '@upstash/ratelimit, ephemeral cache': () => limiting('hot'),
  };
}

async function compareSpeed(per, every, windowMs, hold) {
  const limits = tokenBucket({ capacity: ADMITTED, refill: ADMITTED, every });
  const of = (policy, options) => createLimiter({ policy, limits, store, timeoutMs: 2000, ...options });
  const [held, asking] = [of(`${every}-held`, hold), of(`${every}-asking`, { hold: false })];
  const sides = {
    'consume, hold': () => held.consume('hot'),
    'decide, hold': () => held.decide('hot'),
    'consume, hold: false': () => asking.consume('hot'),
    ...(await peers(`peer-${every}`, windowMs)),
  };
  const figures = Object.fromEntries(Object.keys(sides).map((side) => [side, { speed: [], cpuUs: [] }]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const [side, call] of Object.entries(sides)) {
      const { perSecond: speed, cpuUs } = await keepGoing(call, IN_FLIGHT, ROUND_MS);
      if (round < 0) continue;
      figures[side].speed.push(speed);
      figures[side].cpuUs.push(cpuUs);
    }
  }
  console.log(`One hot subject, ${ADMITTED} ${per} admitted, ${IN_FLIGHT} in flight, ${ROUNDS} interleaved rounds:`);
  console.log('CPU time of a decision / that of consume with the hold (peers: until the end of the window)');
  const own = figures['consume, hold'];
  for (const [side, { speed, cpuUs }] of Object.entries(figures)) {
    const ratios = cpuUs.map((value, i) => value / own.cpuUs[i]);
    formatRatios(side, ratios, { 'CPU us': cpuUs, 'k/s': speed.map((value) => value / 1000) });
  }
}

/** Asks `rate * OVERLOAD` times a second, evenly; scripts run a decision, and what was admitted a second. */
async function overload(limiter, rate) {
  await limiter.charge('hot', rate);
  const call = () => limiter.decide('hot');
  const { calls, admitted } = await paced(ioredis, call, rate * OVERLOAD, SECONDS * 1000);
  return { calls, admitted: admitted / SECONDS };
}

async function compareCalls() {
  console.log(
    `\nOne process, ${OVERLOAD} times the rate, ${SECONDS} s each: scripts run a decision, and what was admitted`,
  );
  for (const rate of RATES) {
    const sides = { hold: [], 'hold: false': [] };
    for (let round = 0; round < Math.min(ROUNDS, 3); round++) {
      const policy = `r${rate}-${round}`;
      sides.hold.push(await overload(limiterOf(policy, rate), rate));
      sides['hold: false'].push(await overload(limiterOf(`${policy}-asking`, rate, { hold: false }), rate));
    }
    const words = Object.entries(sides).map(([name, rounds]) => {
      const of = (key) => median(rounds.map((round) => round[key]));
      return `${name} ${of('calls').toFixed(2)} calls, ${of('admitted').toFixed(0)} a second`;
    });
    console.log(`  ${String(rate).padStart(3)} a second: ${words.join('; ')}`);
  }
}

await compareSpeed('an hour', '1h', 3_600_000, { hold: '1m' });
await compareSpeed('a second', '1s', 1000, {});
await compareCalls();
ioredis.disconnect();
await server.stop();
process.exit(0);

// What a decision costs as subjects grow from a thousand to a million, all of them there, asked about in random order:
// one Redis by its own count of the script's time, the memory store by processor time, and a bare Map of as many
// buckets beside it, which tells what is the processor's cache alone.
//   npm run build && node bench/subjects.mjs [--most 1000000]
import { Redis } from 'ioredis';
import { compose } from '../packages/comporta/dist/algorithms/compose.js';
import { createLimiter, memoryStore, tokenBucket } from '../packages/comporta/dist/index.js';
import { startRedis } from './lib/redis.mjs';
import { flagsOf, numberOf, roundsOr } from './lib/settings.mjs';
import { median } from './lib/stats.mjs';

const ROUNDS = roundsOr(7);
const CALLS = 20_000;
const AT_ONCE = 500;
const { most } = flagsOf({ most: { type: 'string', default: '1000000' } });
const SIZES = [1e3, 1e4, 1e5, 1e6].filter((size) => size <= numberOf('--most', most, { from: 1000 }));
const limit = tokenBucket({ capacity: 1e6, refill: 1e6, every: '1h' });
const subjectOf = (i) => `ip=203.0.113.${i}`;

const server = await startRedis();
const { text } = compose('consume', [limit]);

/** Each number of subjects has a database of its own. */
async function inRedis(_, db) {
  const redis = new Redis({ port: server.port, host: '127.0.0.1', db });
  const sha = await redis.script('LOAD', text);
  const args = ['', '1', ...limit.args.map(String), 'holder'];
  const decide = async (indexes) => {
    for (let from = 0; from < indexes.length; from += AT_ONCE) {
      const pipeline = redis.pipeline();
      for (const i of indexes.slice(from, from + AT_ONCE)) {
        pipeline.evalsha(sha, 1, `cmp1:{${subjectOf(i)}}:api:0:xx`, ...args);
      }
      const failed = (await pipeline.exec()).find(([error]) => error !== null);
      if (failed) throw failed[0];
    }
  };
  const cost = async (indexes) => {
    await redis.config('RESETSTAT');
    await decide(indexes);
    return Number(/cmdstat_evalsha:.*usec_per_call=([\d.]+)/.exec(await redis.info('commandstats'))?.[1]);
  };
  return { decide, cost, close: () => redis.disconnect() };
}

/** In this process: µs of its processor time. */
function here(decideOne, close) {
  const decide = (indexes) => {
    for (const i of indexes) decideOne(subjectOf(i));
  };
  const cost = (indexes) => {
    const subjects = indexes.map(subjectOf);
    const before = process.cpuUsage();
    for (const subject of subjects) decideOne(subject);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / subjects.length;
  };
  return { decide, cost, close };
}

function inMemory(size) {
  const limiter = createLimiter({ policy: 'api', limits: limit, store: memoryStore({ maxSubjects: size }) });
  return here(
    (subject) => limiter.decide(subject),
    () => limiter.close(),
  );
}

function inMap() {
  const buckets = new Map();
  const decide = (subject) => {
    const now = Date.now();
    const bucket = buckets.get(subject) ?? { tokens: 1e6, at: now };
    bucket.tokens = Math.min(1e6, bucket.tokens + (now - bucket.at) * 0.3) - 1;
    bucket.at = now;
    buckets.set(subject, bucket);
  };
  return here(decide, () => buckets.clear());
}

console.log(
  `A decision by the number of subjects, ${CALLS} about any of them, the middle of ${ROUNDS} interleaved rounds:`,
);
for (const [name, make] of Object.entries({ Redis: inRedis, 'memory store': inMemory, 'bare Map': inMap })) {
  const places = [];
  for (const [i, size] of SIZES.entries()) {
    const place = await make(size, i);
    await place.decide(Array.from({ length: size }, (_, subject) => subject));
    places.push({ ...place, size, costs: [] });
  }
  for (let round = -1; round < ROUNDS; round++) {
    for (const { size, cost, costs } of places) {
      const us = await cost(Array.from({ length: CALLS }, () => Math.floor(Math.random() * size)));
      if (round >= 0) costs.push(us);
    }
  }
  const middle = places.map(({ costs }) => median(costs));
  const words = places.map(({ size }, i) => `${size.toLocaleString('en-US')}: ${middle[i].toFixed(2)}`);
  console.log(`  ${name.padEnd(13)} ${words.join(', ')} µs; last / first ${(middle.at(-1) / middle[0]).toFixed(2)}`);
  for (const place of places) await place.close();
}
await server.stop();

// Layouts of the exact log: both of `slidingWindow`, the sorted set and the list, beside others written by hand.
// Every layout gets the same requests at the same times, on keys of its own, and must give the same answers. Time is
// `usec_per_call` of INFO commandstats, in turns: the least of many short rounds, since what others do on the machine
// adds to it. Memory is what MEMORY USAGE says of a key, and what `dataset.bytes` of MEMORY STATS grew by for each;
// replicated bytes are the growth of `master_repl_offset`, divided by the admissions.
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { compose } from '../packages/comporta/dist/algorithms/compose.js';
import { slidingWindow } from '../packages/comporta/dist/index.js';
import { startRedis } from './lib/redis.mjs';
import { refuse, roundsOr } from './lib/settings.mjs';
import { median } from './lib/stats.mjs';

const ROUNDS = roundsOr(20);
const WINDOW_MS = 600_000;
const CALLS = 1000;
const KEYS = { 10: 400, 100: 200, 1000: 40, 10000: 4 };
const SIZES = (process.env.BENCH_LIMITS ?? Object.keys(KEYS).join()).split(',').map(Number);
if (SIZES.some((size) => KEYS[size] === undefined))
  refuse(`BENCH_LIMITS: expected some of ${Object.keys(KEYS)}, got "${process.env.BENCH_LIMITS}"`);

const composed = compose('consume', [slidingWindow({ limit: 1, window: WINDOW_MS })]).text;
const hand = (name) => readFileSync(new URL(`./hand/${name}.lua`, import.meta.url), 'utf8');
const layouts = {
  'sorted set': { text: composed, storage: 1 },
  list: { text: composed, storage: 0 },
  'list, by hand': { text: hand('sliding-window') },
  'ring string, by hand': { text: hand('log-ring') },
  'append string, by hand': { text: hand('log-append') },
  // Read and written whole: above this limit a call takes hundreds of microseconds.
  'packed string, by hand': { text: hand('log-packed'), limitMax: 1000 },
};

/** Whole numbers below `n`, the same in every run. */
function dice(seed) {
  let state = seed;
  return (n) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * n);
  };
}

/** How requests come: how many per window for a limit, and what they cost. */
const loads = {
  // As many as fit: each takes the place of one that left, now and then one is refused.
  full: { rate: 1.02, costOf: () => 1 },
  // Half of the limit is used.
  half: { rate: 0.5, costOf: () => 1 },
  weights: { rate: 0.34, costOf: (roll) => 1 + roll(5) },
  refused: { rate: 20, costOf: () => 1 },
};

/** Requests to some keys: index of the key, time in us, cost. Each key's come at the load's rate, unevenly. */
function* requests(limit, keys, { rate, costOf }, roll, from) {
  const stepUs = Math.max(1, Math.round((WINDOW_MS * 1000) / (limit * rate * keys)));
  for (let us = from, i = 0; ; i++) {
    us += roll(2 * stepUs + 1);
    yield [i % keys, us, costOf(roll)];
  }
}

function take(iterator, count) {
  const taken = [];
  while (taken.length < count) taken.push(iterator.next().value);
  return taken;
}

/** Keys are equally long whatever the layout: replicated bytes hold them. */
const keyOf = (name, key) => `{${Object.keys(layouts).indexOf(name)}-${key}}`;

async function play(redis, sha, name, limit, batch) {
  const { storage = 0 } = layouts[name];
  const replies = [];
  for (let done = 0; done < batch.length; done += 500) {
    const pipeline = redis.pipeline();
    for (const [key, us, cost] of batch.slice(done, done + 500)) {
      pipeline.evalsha(sha, 1, keyOf(name, key), us, cost, limit, WINDOW_MS * 1000, storage);
    }
    for (const [error, reply] of await pipeline.exec()) {
      if (error) throw error;
      replies.push(reply.join(' '));
    }
  }
  return replies;
}

async function stat(redis, section, pattern) {
  return Number(pattern.exec(await redis.info(section))[1]);
}

async function dataset(redis) {
  const stats = await redis.memory('STATS');
  return stats[stats.indexOf('dataset.bytes') + 1];
}
const offset = (redis) => stat(redis, 'replication', /master_repl_offset:(\d+)/);

async function measure(redis, limit, load, rounds = ROUNDS) {
  const keys = KEYS[limit] ?? 10;
  const iterator = requests(limit, keys, loads[load], dice(limit), 1_796_000_000_000_000);
  const filling = take(iterator, Math.ceil(limit * keys * Math.min(2.5, loads[load].rate * 2.5)));
  const figures = {};
  let expected;
  for (const [name, { text, limitMax = Number.POSITIVE_INFINITY }] of Object.entries(layouts)) {
    if (limit > limitMax) continue;
    const sha = await redis.script('LOAD', text);
    const before = await dataset(redis);
    const replies = await play(redis, sha, name, limit, filling);
    const heapBytes = ((await dataset(redis)) - before) / keys;
    const usage = [];
    for (let key = 0; key < keys; key++) usage.push(await redis.memory('USAGE', keyOf(name, key), 'SAMPLES', '0'));
    expected ??= replies;
    compare(name, expected, replies);
    figures[name] = { sha, heapBytes, usage: median(usage), usec: [], sent: 0, admitted: 0 };
  }
  for (let round = 0; round < rounds; round++) {
    const batch = take(iterator, CALLS);
    let answers;
    for (const [name, figure] of Object.entries(figures)) {
      const sentBefore = await offset(redis);
      await redis.config('RESETSTAT');
      const replies = await play(redis, figure.sha, name, limit, batch);
      const usec = await stat(redis, 'commandstats', /cmdstat_evalsha:.*usec_per_call=([\d.]+)/);
      answers ??= replies;
      compare(name, answers, replies);
      figure.usec.push(usec);
      figure.sent += (await offset(redis)) - sentBefore;
      figure.admitted += replies.filter((reply) => reply.split(' ')[2] === '0').length;
    }
  }
  await redis.flushall();
  return figures;
}

function compare(name, expected, replies) {
  const i = replies.findIndex((reply, at) => reply !== expected[at]);
  if (i >= 0) throw new Error(`${name}, request ${i}: ${replies[i]} where the sorted set answers ${expected[i]}`);
}

const server = await startRedis();
const replica = await startRedis();
const redis = new Redis({ port: server.port, host: '127.0.0.1' });
const second = new Redis({ port: replica.port, host: '127.0.0.1' });
await redis.config('SET', 'repl-diskless-sync-delay', '0');
await second.replicaof('127.0.0.1', server.port);
while (!/state=online/.test(await redis.info('replication'))) await new Promise((resolve) => setTimeout(resolve, 50));

// What the server takes once belongs to no layout.
await measure(redis, 10, 'full', 1);

console.log(`Layouts of the exact log, ${ROUNDS} interleaved rounds of ${CALLS} calls; ratios to the sorted set\n`);
console.log(
  '| limit, load | layout | us per call, least | ratio | MEMORY USAGE (ratio) | dataset (ratio) | replicated B |',
);
console.log('|---|---|---|---|---|---|---|');
for (const limit of SIZES) {
  for (const load of Object.keys(loads)) {
    const figures = await measure(redis, limit, load);
    const set = figures['sorted set'];
    for (const [name, { usec, usage, heapBytes, sent, admitted }] of Object.entries(figures)) {
      const least = Math.min(...usec);
      const cells = [
        `${limit} ${load}`,
        name,
        least.toFixed(1),
        (least / Math.min(...set.usec)).toFixed(2),
        `${usage} (${(usage / set.usage).toFixed(2)})`,
        `${Math.round(heapBytes)} (${(heapBytes / set.heapBytes).toFixed(2)})`,
        admitted === 0 ? '-' : Math.round(sent / admitted),
      ];
      console.log(`| ${cells.join(' | ')} |`);
    }
  }
}
redis.disconnect();
second.disconnect();
await server.stop();
await replica.stop();

// Server CPU per decision: the composed script against one written by hand for the same algorithm.
// Both do the same work on their own keys, in turns, on one server; `usec_per_call` comes from INFO commandstats.
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { compose } from '../packages/comporta/dist/algorithms/compose.js';
import {
  fixedWindow,
  quota,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from '../packages/comporta/dist/index.js';
import { startRedis } from './lib/redis.mjs';
import { roundsOr } from './lib/settings.mjs';
import { formatRatios } from './lib/stats.mjs';

// Many and short, for what else runs on the machine then falls on few of them or on both sides alike.
const ROUNDS = roundsOr(200);
const CALLS = 1000;
const KEYS = 500;

// Wide enough that every call is admitted: the path that reads, decides and writes.
const cases = {
  'token-bucket': tokenBucket({ capacity: 100_000, refill: 10_000, every: '1s' }),
  'sliding-window': slidingWindow({ limit: 10_000, window: '1s' }),
  'sliding-window-counter': slidingWindowCounter({ limit: 100_000, window: '10s' }),
  'fixed-window': fixedWindow({ limit: 100_000, window: '10s' }),
  quota: quota({ limit: 100_000_000, per: 'year' }),
};

/** Microseconds of server time per call over one batch. */
async function usecPerCall(redis, text, limit, tag) {
  const sha = await redis.script('LOAD', text);
  const args = (limit.argsAt?.(Date.now()) ?? limit.args).map(String);
  await redis.config('RESETSTAT');
  for (let done = 0; done < CALLS; done += 500) {
    const pipeline = redis.pipeline();
    for (let i = 0; i < 500; i++) pipeline.evalsha(sha, 1, `{${tag}${(done + i) % KEYS}}`, '', '1', ...args);
    const results = await pipeline.exec();
    const failed = results.find(([error]) => error !== null);
    if (failed) throw failed[0];
  }
  const line = (await redis.info('commandstats')).split('\r\n').find((text) => text.startsWith('cmdstat_evalsha:'));
  return Number(/usec_per_call=([\d.]+)/.exec(line)[1]);
}

const server = await startRedis();
const redis = new Redis({ port: server.port, host: '127.0.0.1' });
console.log(`Server time per decision, composed script / hand-written script, ${ROUNDS} interleaved rounds`);
let worst = 0;
for (const [file, limit] of Object.entries(cases)) {
  const hand = readFileSync(new URL(`./hand/${file}.lua`, import.meta.url), 'utf8');
  const composed = compose('consume', [limit]).text;
  const ratios = [];
  const usec = { composed: [], hand: [] };
  for (let round = 0; round < ROUNDS; round++) {
    const sides = Object.entries({ composed, hand });
    for (const [side, text] of round % 2 === 0 ? sides : sides.toReversed()) {
      usec[side].push(await usecPerCall(redis, text, limit, `${file}-${side}-`));
    }
    ratios.push(usec.composed[round] / usec.hand[round]);
  }
  worst = Math.max(worst, formatRatios(file, ratios, usec));
}
console.log(`worst median ratio ${worst.toFixed(2)} (goal: at most 1.15)`);
redis.disconnect();
await server.stop();

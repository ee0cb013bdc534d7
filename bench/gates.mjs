// Server CPU of one decision: what blocks, overrides, a revision and refusals that count add to a plain policy.
// Every case decides the same on its own keys, in turns, on one server; `usec_per_call` comes from INFO commandstats.
// The fastest round of each counts: what else a machine does can only add to the server's time.
import { Redis } from 'ioredis';
import { compose } from '../packages/comporta/dist/algorithms/compose.js';
import { slidingWindow, tokenBucket } from '../packages/comporta/dist/index.js';
import { overrideText, revisionText } from '../packages/comporta/dist/limiter/terms.js';
import { startRedis } from './lib/redis.mjs';
import { roundsOr } from './lib/settings.mjs';

const ROUNDS = roundsOr(40);
const CALLS = 5000;
const KEYS = 1000;

// Wide enough that every call is admitted: the path that reads, decides and writes.
const limits = {
  'token bucket': tokenBucket({ capacity: 100_000, refill: 10_000, every: '1s' }),
  'sliding window': slidingWindow({ limit: 10_000, window: '1s' }),
};

const none = { areBlockable: false, arePunished: false, haveTerms: false };
const TTL_MS = '3600000';

/** Gates, the keys that they take, and what they are called with. */
function casesOf(limit) {
  const table = { limits: [{ ...limit, id: 'a' }], plans: new Map() };
  const revision = revisionText(7, table);
  const override = overrideText({ limits: [limit] });
  const terms = { ...none, haveTerms: true };
  return {
    plain: { gates: none, keys: [], args: [] },
    blocks: { gates: { ...none, areBlockable: true }, keys: ['block'], args: [] },
    'blocks after refusals': {
      gates: { ...none, areBlockable: true, arePunished: true },
      keys: ['block', 'refusals'],
      args: ['10', '60000', '60000'],
    },
    'overrides, none set': { gates: terms, keys: ['terms'], args: ['', '', TTL_MS] },
    'overrides, one set': { gates: terms, keys: ['terms'], args: [override, override, TTL_MS], stored: override },
    revision: { gates: terms, keys: ['terms'], args: [revision, '', TTL_MS] },
  };
}

/** Microseconds of server time per decision over one batch. */
async function usecPerCall(redis, limit, { gates, keys, args, stored }, tag) {
  const sha = await redis.script('LOAD', compose('consume', [limit], gates).text);
  const own = limit.args.map(String);
  const keysOf = (i) => ['limit', ...keys].map((name) => `{${tag}${i % KEYS}}:${name}`);
  if (stored !== undefined) for (let i = 0; i < KEYS; i++) await redis.set(keysOf(i).at(-1), stored);
  await redis.config('RESETSTAT');
  for (let done = 0; done < CALLS; done += 500) {
    const pipeline = redis.pipeline();
    for (let i = done; i < done + 500; i++) {
      const all = keysOf(i);
      pipeline.evalsha(sha, all.length, ...all, '', '1', ...own, ...args);
    }
    const results = await pipeline.exec();
    const failed = results.find(([error, reply]) => error !== null || reply.length !== 5);
    if (failed) throw failed[0] ?? new Error(`not decided: ${failed[1]}`);
  }
  const line = (await redis.info('commandstats')).split('\r\n').find((text) => text.startsWith('cmdstat_evalsha:'));
  return Number(/usec_per_call=([\d.]+)/.exec(line)[1]);
}

const server = await startRedis();
const redis = new Redis({ port: server.port, host: '127.0.0.1' });
console.log(`Server time per decision and its ratio to the same without, the fastest of ${ROUNDS} rounds`);
for (const [name, limit] of Object.entries(limits)) {
  console.log(name);
  const cases = Object.entries(casesOf(limit));
  const fastest = cases.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, [, each]] of cases.entries()) {
      fastest[i] = Math.min(fastest[i], await usecPerCall(redis, limit, each, `${name[0]}${i}-`));
    }
  }
  cases.forEach(([label], i) => {
    console.log(`  ${label.padEnd(28)} ${(fastest[i] / fastest[0]).toFixed(2)}  (${fastest[i].toFixed(2)} us)`);
  });
}
redis.disconnect();
await server.stop();

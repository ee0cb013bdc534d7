// Decisions per second and core on the memory store, 10,000 subjects; and the ratio to a bare Map of buckets.
import { createLimiter, slidingWindow, tokenBucket } from '../packages/comporta/dist/index.js';
import { formatRatios } from './lib/stats.mjs';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const CALLS = 400_000;
const subjects = Array.from({ length: 10_000 }, (_, i) => `subject-${i}`);

/** The least a token bucket can be: floats in a Map, no costs, no refusal details. */
function bareMap() {
  const buckets = new Map();
  return (subject) => {
    const now = Date.now();
    let bucket = buckets.get(subject);
    if (bucket === undefined) {
      bucket = { tokens: 100, at: now };
      buckets.set(subject, bucket);
    }
    bucket.tokens = Math.min(100, bucket.tokens + (now - bucket.at) * 0.01);
    bucket.at = now;
    if (bucket.tokens < 1) return { allowed: false, retryAfterMs: Math.ceil((1 - bucket.tokens) * 100) };
    bucket.tokens--;
    return { allowed: true, remaining: bucket.tokens };
  };
}

async function perSecond(decide, isAsync) {
  const start = process.hrtime.bigint();
  if (isAsync) for (let i = 0; i < CALLS; i++) await decide(subjects[i % 10_000]);
  else for (let i = 0; i < CALLS; i++) decide(subjects[i % 10_000]);
  return CALLS / (Number(process.hrtime.bigint() - start) / 1e9);
}

const bucket = createLimiter({ policy: 'b', limits: tokenBucket({ capacity: 100, refill: 10, every: '1s' }) });
const log = createLimiter({ policy: 's', limits: slidingWindow({ limit: 100, window: '10s' }) });
const bare = bareMap();
const cases = {
  'decide(), token bucket': [(s) => bucket.decide(s), false],
  'consume(), token bucket': [(s) => bucket.consume(s), true],
  'decide(), sliding window': [(s) => log.decide(s), false],
};

console.log(
  `Memory store, 10,000 subjects, ratio to a bare Map of buckets, ${ROUNDS} interleaved rounds; M/s = million decisions per second`,
);
for (const [name, [decide, isAsync]] of Object.entries(cases)) {
  const [ratios, ours, theirs] = [[], [], []];
  for (let round = -1; round < ROUNDS; round++) {
    const reference = await perSecond(bare, false);
    const measured = await perSecond(decide, isAsync);
    if (round < 0) continue;
    ratios.push(measured / reference);
    ours.push(measured / 1e6);
    theirs.push(reference / 1e6);
  }
  formatRatios(name, ratios, { 'comporta M/s': ours, 'bare Map M/s': theirs });
}

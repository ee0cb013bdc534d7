// Decisions per second and core on the memory store, 10,000 subjects; the ratio to a bare Map of buckets; and how many
// bytes a decision allocates.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createLimiter, slidingWindow, tokenBucket } from '../packages/comporta/dist/index.js';
import { bareMap } from './lib/bare-map.mjs';
import { roundsOr } from './lib/settings.mjs';
import { formatRatios, median } from './lib/stats.mjs';

const ROUNDS = roundsOr(9);
const CALLS = 400_000;
const FEW = 300;
const subjects = Array.from({ length: 10_000 }, (_, i) => `subject-${i}`);

async function perSecond(decide, isAsync) {
  const start = process.hrtime.bigint();
  if (isAsync) for (let i = 0; i < CALLS; i++) await decide(subjects[i % 10_000]);
  else for (let i = 0; i < CALLS; i++) decide(subjects[i % 10_000]);
  return CALLS / (Number(process.hrtime.bigint() - start) / 1e9);
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

/** What of the heap one call takes, kept or not; the middle of many looks, too short for anything to be collected. */
async function bytesOf(decide, isAsync) {
  const bytes = [];
  for (let look = 0; look < 99; look++) {
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < FEW; i++) isAsync ? await decide(subjects[i]) : decide(subjects[i]);
    bytes.push((process.memoryUsage().heapUsed - before) / FEW);
  }
  return median(bytes);
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
  const bytes = await bytesOf(decide, isAsync);
  formatRatios(name, ratios, { 'comporta M/s': ours, 'bare Map M/s': theirs, 'bytes a decision': [bytes] });
}

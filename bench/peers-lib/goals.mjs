// What comporta means to reach, and whether a run shows it. Ours is a bucket on the faster of ioredis and node-redis.
import { bestOf, blockOf, figure, times } from './lib/figures.mjs';

const BUCKET = 'token bucket';

/** Ours against `rival`, which is a name or finds one. */
const against =
  (rival, key = 'perSecond') =>
  (block, subjects) => {
    const ours = bestOf(block, subjects, 'comporta', key, BUCKET);
    const other = typeof rival === 'string' ? rival : rival(block, subjects, key);
    return { ours, other, measured: times(block, ours, other, key) };
  };
const own = (key) => (block, subjects) => {
  const ours = bestOf(block, subjects, 'comporta', key, BUCKET);
  return { ours, measured: figure(block, ours, key) };
};
const bestPeer = (block, subjects, key) => bestOf(block, subjects, 'peer', key);
const upstash = (block, subjects, key) => {
  const isUpstash = ([name]) => name.startsWith('@upstash/');
  return bestOf(block, Object.fromEntries(Object.entries(subjects).map(asPeer(isUpstash))), 'peer', key);
};
const asPeer = (keep) => (entry) => (keep(entry) ? entry : [entry[0], { ...entry[1], by: 'other' }]);
const named = (name, other) => (block) => ({ ours: name, other, measured: times(block, name, other, 'perSecond') });

const DECIDE = 'comporta bucket, decide()';
const CONSUME = 'comporta bucket, consume()';

/** `at` names the block, `least` or `most` the goal for the median. */
const GOALS = [
  {
    words: 'hot key admitted, decisions/s, times the best peer',
    at: ['single', 'below', 64],
    least: 3.5,
    find: against(bestPeer),
  },
  {
    words: '10,000 keys, decisions/s, times rate-limiter-flexible on ioredis',
    at: ['single', 'uniform', 64],
    least: 1.5,
    find: against('rate-limiter-flexible, ioredis'),
  },
  {
    words: '10,000 keys, decisions/s, times the bare socket',
    at: ['single', 'uniform', 64],
    least: 1.1,
    find: against('bare socket'),
  },
  {
    words: '10,000 keys on a cluster, decisions/s, times the best peer',
    at: ['cluster', 'uniform', 64],
    least: 1.3,
    find: against(bestPeer),
  },
  {
    words: 'client CPU per decision at 256 in flight, µs',
    at: ['single', 'uniform', 256],
    most: 8,
    find: own('clientUs'),
  },
  {
    words: 'hot key refused, decisions/s, times rate-limiter-flexible with inMemoryBlock',
    at: ['single', 'refused', 64],
    least: 3,
    find: against('rate-limiter-flexible, inMemoryBlock'),
  },
  {
    words: 'hot key refused, decisions/s, times @upstash/ratelimit with its cache',
    at: ['single', 'refused', 64],
    least: 3,
    find: against(upstash),
  },
  {
    words: 'one decision at a time, median wait, times the bare socket',
    at: ['single', 'uniform', 1],
    most: 1.1,
    find: against('bare socket', 'p50Us'),
  },
  {
    words: 'in memory, 10,000 keys, consume(), times rate-limiter-flexible',
    at: ['memory', 'uniform'],
    least: 3,
    find: named(CONSUME, 'rate-limiter-flexible memory'),
  },
  {
    words: 'in memory, 10,000 keys, decide(), times a bare Map',
    at: ['memory', 'uniform'],
    least: 0.5,
    find: named(DECIDE, 'bare Map'),
  },
];

/** Every goal with what was measured; `met` is undefined where the run did not measure it. */
export function goalsOf(data, subjects) {
  return GOALS.map(({ words, at, least, most, find }) => {
    const goal = least === undefined ? `at most ${most}` : `at least ${least}`;
    const block = blockOf(data, ...at);
    if (block === undefined) return { words, goal };
    const { ours, other, measured } = find(block, subjects);
    const met = least === undefined ? measured.median <= most : measured.median >= least;
    return { words, goal, ours, other, measured, met };
  });
}

// How long each part runs. The full run keeps under twelve minutes, the quick one under three.
import { MODES } from './load.mjs';

const ALL = Object.keys(MODES);

export const PLANS = {
  full: {
    rounds: 7,
    sliceMs: 300,
    firstMs: 1000,
    bareMs: 100,
    warmBareMs: 500,
    blocks: [
      ['single', 64, ALL],
      ['single', 256, ['below', 'refused', 'uniform']],
      ['single', 1, ['uniform']],
      ['cluster', 64, ['uniform', 'zipf']],
    ],
    filled: { one: 10_000, full: 200 },
    hammerMs: 3000,
    edges: 2,
    faultMs: 4000,
  },
  quick: {
    rounds: 3,
    sliceMs: 100,
    firstMs: 200,
    bareMs: 50,
    warmBareMs: 200,
    blocks: [
      ['single', 64, ALL],
      ['single', 256, ['uniform']],
      ['single', 1, ['uniform']],
      ['cluster', 64, ['uniform']],
    ],
    filled: { one: 2000, full: 50 },
    hammerMs: 1500,
    edges: 1,
    faultMs: 2000,
  },
};

/** Where a subject takes part. */
export const takesPart = ({ modes, topologies }, topology, mode) =>
  (modes === undefined || modes.includes(mode)) && (topologies === undefined || topologies.includes(topology));

/** Part of a subject's keys, so that no two meet in Redis; as long for everybody. */
export const tagOf = (subjects, name) => String.fromCharCode(97 + Object.keys(subjects).indexOf(name));

// Where others are ahead, found in the figures, so that nobody can leave one out.
import { bestOf, namesOf, times } from './lib/figures.mjs';

/** Closer than this is a tie. */
const TIE = 0.05;

export const FIGURES = {
  perSecond: 'decisions/s',
  p50Us: 'median wait',
  p99Us: 'wait of the slowest 1 %',
  clientUs: 'client CPU',
  redisUs: 'Redis CPU',
  bytes: 'bytes per subject',
};

/** Peers that are ahead, the foremost first, and by how many times its figure is ours. */
function aheadIn(block, subjects, algorithm, key) {
  const ours = bestOf(block, subjects, 'comporta', key, algorithm);
  const sign = key === 'perSecond' ? 1 : -1;
  const factors = namesOf(block, subjects, 'peer')
    .map((name) => ({ name, factor: times(block, name, ours, key).median }))
    .filter(({ factor }) => sign * (factor - 1) > TIE)
    .sort((a, b) => sign * (b.factor - a.factor));
  return factors.length === 0 ? undefined : { count: factors.length, ...factors[0] };
}

const place = ({ topology, title, inFlight }) =>
  [topology === 'single' ? undefined : topology, title, inFlight && `${inFlight} in flight`].filter(Boolean).join(', ');

function inBlock(block, subjects, algorithm) {
  const keys = block.topology === 'memory' ? ['perSecond'] : Object.keys(FIGURES).filter((key) => key !== 'bytes');
  return {
    place: place(block),
    ahead: Object.fromEntries(keys.map((key) => [key, aheadIn(block, subjects, algorithm, key)])),
  };
}

function inSpace(space, subjects, algorithm, key, words) {
  const names = Object.keys(space);
  const ours = names.find((name) => subjects[name].by === 'comporta' && subjects[name].algorithm === algorithm);
  const factors = names
    .filter((name) => subjects[name].by === 'peer')
    .map((name) => ({ name, factor: space[name][key] / space[ours][key] }))
    .filter(({ factor }) => factor < 1 - TIE)
    .sort((a, b) => a.factor - b.factor);
  return {
    place: words,
    ahead: { bytes: factors.length === 0 ? undefined : { count: factors.length, ...factors[0] } },
  };
}

/** One row for each load in which some peer is ahead of this algorithm: by figure, how many are, and the foremost. */
export function lossesOf({ blocks, space }, subjects, algorithm) {
  const rows = [
    ...blocks.map((block) => inBlock(block, subjects, algorithm)),
    inSpace(space, subjects, algorithm, 'one', 'Redis memory after 1 decision'),
    inSpace(space, subjects, algorithm, 'full', 'Redis memory after 100 decisions'),
  ];
  return rows.filter(({ ahead }) => Object.values(ahead).some((one) => one !== undefined));
}

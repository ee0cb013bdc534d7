// Questions to the figures of a run. A block is one load: results by subject, one entry per round.
import { ratios, spread } from './stats.mjs';

export const blockOf = ({ blocks }, topology, mode, inFlight) =>
  blocks.find((block) => block.topology === topology && block.mode === mode && block.inFlight === inFlight);

const rounds = (block, name, key) => block.results[name].map((figures) => figures[key]);
export const figure = (block, name, key) => spread(rounds(block, name, key));
/** How many times the figure of one subject is that of the other, round by round. */
export const times = (block, name, other, key) => ratios(rounds(block, name, key), rounds(block, other, key));

/** Names in the order of their medians, the best first: the greatest of speeds, the least of times. */
export function ranked(block, names, key) {
  const sign = key === 'perSecond' ? -1 : 1;
  return names
    .filter((name) => block.results[name] !== undefined)
    .sort((a, b) => sign * (figure(block, a, key).median - figure(block, b, key).median));
}

/** The subjects of a block of one kind; of comporta those with one algorithm, called in the usual way. */
export function namesOf(block, subjects, by, algorithm) {
  return Object.keys(block.results).filter((name) => {
    const subject = subjects[name];
    const isSpecial = subject.by === 'comporta' && subject.modes !== undefined;
    return subject.by === by && !isSpecial && (algorithm === undefined || subject.algorithm === algorithm);
  });
}

export const bestOf = (block, subjects, by, key, algorithm) =>
  ranked(block, namesOf(block, subjects, by, algorithm), key)[0];

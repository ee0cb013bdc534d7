// The charts of a run, by the name of their file.
import { blockOf, figure, ranked, times } from './lib/figures.mjs';
import { barChart } from './lib/svg.mjs';
import { short } from './lib/text.mjs';

/** Decisions per second as multiples of the reference. */
function speedChart(block, subjects, reference, title) {
  const rows = Object.keys(block.results)
    .map((name) => ({ label: name, value: times(block, name, reference, 'perSecond').median, by: subjects[name].by }))
    .sort((a, b) => b.value - a.value)
    .map((row) => ({ ...row, text: `${short(row.value)}x` }));
  return barChart({ title, unit: `decisions per second, times ${reference}: more is better`, rows });
}

function figureChart(block, subjects, key, title, unit) {
  const rows = ranked(block, Object.keys(block.results), key).map((name) => {
    const { median } = figure(block, name, key);
    return { label: name, value: median, text: short(median), by: subjects[name].by };
  });
  return barChart({ title, unit: `${unit}: less is better`, rows });
}

function valueChart(values, subjects, title, unit) {
  const rows = Object.entries(values)
    .sort(([, a], [, b]) => a - b)
    .map(([name, value]) => ({ label: name, value, text: short(value), by: subjects[name].by }));
  return barChart({ title, unit: `${unit}: less is better`, rows });
}

const values = (table, key) => Object.fromEntries(Object.entries(table).map(([name, row]) => [name, row[key]]));

/** SVG texts by name; what a run did not measure has none. */
export function chartsOf(data, subjects) {
  const speed = data.blocks
    .filter(({ topology, inFlight }) => topology !== 'memory' && inFlight === 64)
    .map((block) => {
      const where = block.topology === 'single' ? '' : `${block.topology}: `;
      const title = `${where}${block.title}, 64 in flight`;
      return [`${block.topology}-${block.mode}`, speedChart(block, subjects, 'bare socket', title)];
    });
  const memory = data.blocks
    .filter(({ topology }) => topology === 'memory')
    .map((block) => [`memory-${block.mode}`, speedChart(block, subjects, 'bare Map', `In memory: ${block.title}`)]);
  const many = blockOf(data, 'single', 'uniform', 256);
  const one = blockOf(data, 'single', 'uniform', 1);
  const edges = Object.fromEntries(Object.entries(data.accuracy).map(([name, { edge }]) => [name, edge.most]));
  return Object.fromEntries([
    ...speed,
    ...memory,
    [
      'client-cpu',
      figureChart(many, subjects, 'clientUs', 'Client CPU, 256 in flight, 10,000 keys', 'µs per decision'),
    ],
    ['redis-cpu', figureChart(many, subjects, 'redisUs', 'Redis CPU, 256 in flight, 10,000 keys', 'µs per decision')],
    ['latency', figureChart(one, subjects, 'p50Us', 'One decision at a time, 10,000 keys', 'median wait in µs')],
    ['space', valueChart(values(data.space, 'one'), subjects, 'Redis memory per subject', 'bytes, after one decision')],
    ['edge', valueChart(edges, subjects, 'Admitted in one second, limit 100', 'at a window edge')],
  ]);
}

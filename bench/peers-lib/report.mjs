// The page that a run writes, from its figures alone.
import { goalsOf } from './goals.mjs';
import { figure, ranked, times } from './lib/figures.mjs';
import { range, short, table } from './lib/text.mjs';
import { FIGURES, lossesOf } from './losses.mjs';

const heading = ({ topology, title, inFlight }) =>
  `### ${topology === 'cluster' ? 'Cluster of three: ' : ''}${title}${inFlight ? `, ${inFlight} in flight` : ''}`;

const bold = (subjects, name) => (subjects[name].by === 'comporta' ? `**${name}**` : name);

const percent = (share) => (share < 0.0005 ? '' : `${short(share * 100)} %`);

function speedTable(block, subjects) {
  const head = [
    '',
    'decisions/s',
    '/ bare socket',
    'p50 µs',
    'p99 µs',
    'client µs',
    'Redis µs',
    'calls',
    'not decided',
  ];
  const middle = (name, key) => short(figure(block, name, key).median);
  const rows = ranked(block, Object.keys(block.results), 'perSecond').map((name) => [
    bold(subjects, name),
    range(figure(block, name, 'perSecond')),
    range(times(block, name, 'bare socket', 'perSecond')),
    ...['p50Us', 'p99Us', 'clientUs', 'redisUs', 'calls'].map((key) => middle(name, key)),
    percent(figure(block, name, 'failed').median),
  ]);
  return table(head, rows);
}

function bareTable(block, subjects) {
  const rows = ranked(block, Object.keys(block.results), 'perSecond').map((name) => [
    bold(subjects, name),
    range(figure(block, name, 'perSecond')),
    range(times(block, name, 'bare Map', 'perSecond')),
  ]);
  return table(['', 'decisions/s', '/ bare Map'], rows);
}

const image = (name, words) => `![${words}](benchmark/${name}.svg)`;

function block(one, subjects, charts) {
  const name = `${one.topology}-${one.mode}`;
  const isDrawn = charts[name] !== undefined && (one.topology === 'memory' || one.inFlight === 64);
  const chart = isDrawn ? [image(name, `${one.title}, decisions per second`), ''] : [];
  const rows = one.topology === 'memory' ? bareTable(one, subjects) : speedTable(one, subjects);
  return [heading(one), '', ...chart, rows, ''].join('\n');
}

const yes = (met) => (met === undefined ? 'not measured' : met ? 'yes' : '**no**');

function goalsTable(data, subjects) {
  const rows = goalsOf(data, subjects).map(({ words, goal, ours, other, measured, met }) => [
    words,
    goal,
    measured === undefined ? '-' : range(measured),
    measured === undefined ? '-' : [ours, other].filter(Boolean).join(' / '),
    yes(met),
  ]);
  return table(['goal', 'wanted', 'measured', 'of', 'met'], rows);
}

function lossesTable(data, subjects, algorithm) {
  const cell = (one) => (one === undefined ? '' : `${one.count}: ${one.name} (${short(one.factor)})`);
  const losses = lossesOf(data, subjects, algorithm);
  if (losses.length === 0) return 'Nowhere in this run.';
  const rows = losses.map(({ place, ahead }) => [place, ...Object.keys(FIGURES).map((key) => cell(ahead[key]))]);
  return table(['', ...Object.values(FIGURES)], rows);
}

/** More admissions in a second than the limit, of ours. */
function overAdmission({ accuracy }, subjects) {
  const ours = Object.entries(accuracy).filter(([name]) => subjects[name].by === 'comporta');
  const most = (algorithm) => {
    const those = ours.filter(([name]) => subjects[name].algorithm === algorithm);
    return Math.max(...those.map(([, { hammer, edge }]) => Math.max(hammer.most, edge.most)));
  };
  const [bucket, log] = [most('token bucket'), most('exact log')];
  return `Of a limit of 100 a second the bucket let through at most ${bucket} in one second, the exact log ${log}.`;
}

const spaceTable = ({ space }, subjects) =>
  table(
    ['', 'bytes per subject, 1 decision', '100 decisions'],
    Object.entries(space)
      .sort(([, a], [, b]) => a.one - b.one)
      .map(([name, { one, full }]) => [bold(subjects, name), short(one), short(full)]),
  );

const accuracyTable = ({ accuracy }, subjects) =>
  table(
    ['', 'hammer', 'window edge', 'admitted a second', 'without Redis, hammer', 'edge'],
    Object.entries(accuracy)
      .sort(([, a], [, b]) => a.edge.most - b.edge.most)
      .map(([name, { hammer, edge }]) => [
        bold(subjects, name),
        ...[hammer.most, edge.most].map(String),
        short(hammer.total),
        ...[hammer.undecided, edge.undecided].map(percent),
      ]),
  );

function faultTable(results, subjects) {
  const ms = (value) => (value === undefined ? 'not within 5 s' : short(value));
  const rows = Object.entries(results)
    .sort(([, a], [, b]) => a.p99Ms - b.p99Ms)
    .map(([name, { p50Ms, p99Ms, maxMs, errors, unanswered, recoveredMs }]) => [
      bold(subjects, name),
      ...[p50Ms, p99Ms, maxMs].map(short),
      percent(errors),
      percent(unanswered),
      ms(recoveredMs),
    ]);
  return table(['', 'p50 ms', 'p99 ms', 'max ms', 'errors', 'never answered', 'normal again after ms'], rows);
}

const kinds = (subjects) =>
  table(
    ['', 'promises'],
    Object.entries(subjects).map(([name, { algorithm }]) => [name, algorithm]),
  );

/** What stands in the template where its name does. */
function parts(data, subjects, charts) {
  const { made, plan, versions, machine, command, faults } = data;
  const blocks = (topology) =>
    data.blocks
      .filter((one) => one.topology === topology)
      .map((one) => block(one, subjects, charts))
      .join('\n');
  return {
    command,
    made,
    machine,
    versions: Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
    rounds: plan.rounds,
    sliceMs: plan.sliceMs,
    faultSeconds: plan.faultMs / 1000,
    goals: goalsTable(data, subjects),
    overAdmission: overAdmission(data, subjects),
    bucketLosses: lossesTable(data, subjects, 'token bucket'),
    logLosses: lossesTable(data, subjects, 'exact log'),
    single: blocks('single'),
    cluster: blocks('cluster'),
    memory: blocks('memory'),
    space: spaceTable(data, subjects),
    accuracy: accuracyTable(data, subjects),
    frozen: faultTable(faults.frozen, subjects),
    killed: faultTable(faults.killed, subjects),
    promises: kinds(subjects),
  };
}

/** The page in Markdown, from its template. `charts` are the texts by name that stand beside it. */
export function report(template, data, subjects, charts) {
  const found = parts(data, subjects, charts);
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => String(found[name]));
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../../scripts/lib/aliases.mjs';
import { TIMEOUT_MS } from './call.js';
import { rules } from './cells.js';
import { clientNames, packageOf } from './clients.js';
import { faults } from './faults.js';
import type { Figures } from './figures.js';
import { GOALS, round } from './goals.js';
import { type Topology, topologies } from './ground.js';
import type { Outcome } from './run-cell.js';

const titles: Readonly<Record<Topology, string>> = {
  single: 'One server',
  sentinel: 'Sentinel: a primary, its replica, three Sentinels',
  cluster: 'Cluster: three primaries, three replicas, one of the primaries struck',
};

/** The page of docs, from a run of the whole matrix; `server` is its name and version. */
export function pageOf(outcomes: readonly Outcome[], server: string): string {
  const parts = [
    intro(server),
    goals(),
    faultList(),
    ...topologies.map((topology) =>
      section(
        topology,
        outcomes.filter(({ cell }) => cell.topology === topology),
      ),
    ),
    leftOut(),
  ];
  return `${parts.join('\n\n')}\n`;
}

const versionOf = (name: string): string =>
  (JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version;

function intro(server: string): string {
  const versions = clientNames.map((name) => `${name} (${versionOf(packageOf[name])})`);
  return `# Chaos matrix

A rate limiter must never be an outage. Here every client runs on every kind of Redis under every fault, with three
policies at once, one for each \`onStoreFailure\`, in a process of its own, under load, with a time limit of
${TIMEOUT_MS} ms. This page is written by

\`\`\`bash
npm run chaos                            # all of it, about a quarter of an hour
npm run chaos -- --only "cluster slow"   # the cells whose names contain these words; writes nothing
npm run chaos -- --server valkey         # on another installed server
\`\`\`

A selection is part of \`npm test\`. Servers are real; faults are signals to their processes, commands to them, and a
proxy before each of them that loses, delays or cuts bytes. Times depend on the machine: a cell that misses a goal of
time only is measured up to three times.

Server: ${server}. Clients: ${versions.join(', ')}; a store URL uses node-redis.`;
}

/** Name, meaning and goal of each column. */
const columns: readonly (readonly [name: string, meaning: string, goal: string])[] = [
  [
    'p50, p99, p99.9, max',
    'time of a decision while the fault lasts, in ms; time for which the process itself did not run is taken off',
    `p99.9 ≤ ${GOALS.decisionMs}`,
  ],
  ['open', 'p99 of decisions while the breaker is open, in ms; "–" when it did not open', `≤ ${GOALS.openMs}`],
  [
    'asked',
    'degraded calls that went to the server although the breaker had opened, to find out, in %',
    `≤ ${GOALS.askedPercent}`,
  ],
  [
    'back',
    'ms from the end of the fault, or from when the first server names the promoted replica, to decisions by the ' +
      'store in every mode',
    `≤ ${GOALS.recoveryMs}`,
  ],
  [
    'wrong',
    'decisions against the mode, above the limit (after a failover: above twice the limit, for what was not replicated is forgotten), denied without a reason, or not marked as degraded',
    '0',
  ],
  ['double', 'subjects with more charges in Redis than requests, commands sent twice or after their decision', '0'],
  ['left', 'unhandled rejections, and handles that are open after `close()`; the process ends within a second', '0'],
  [
    'healthy',
    'degraded decisions on shards that are not struck, and their p99 during / before the fault, in ms',
    `0; ≤ ${GOALS.healthyFactor} × before, or ≤ ${GOALS.healthyFloorMs}`,
  ],
];

function goals(): string {
  const rows = columns.map((column) => rowOf(column));
  return ['## Columns and goals', '', rowOf(['column', 'meaning', 'goal']), ruleOf(3), ...rows].join('\n');
}

function faultList(): string {
  const rows = faults.map(({ name, about }) => `| ${name} | ${about} |`);
  return ['## Faults', '', '| fault | what happens |', '|---|---|', ...rows].join('\n');
}

function section(topology: Topology, outcomes: readonly Outcome[]): string {
  const isCluster = topology === 'cluster';
  const names = columns.flatMap(([name]) => (name === 'healthy' && !isCluster ? [] : name.split(', ')));
  const head = ['client', 'fault', ...names, 'verdict'];
  const rows = outcomes.map((outcome) => row(outcome, isCluster));
  return [`## ${titles[topology]}`, '', rowOf(head), ruleOf(head.length), ...rows].join('\n');
}

const rowOf = (texts: readonly string[]): string => `| ${texts.join(' | ')} |`;
const ruleOf = (count: number): string => `${'|---'.repeat(count)}|`;

function row({ cell, found, missed }: Outcome, isCluster: boolean): string {
  const names = [cell.client, cell.fault.name];
  if (found === undefined) return rowOf([...names, ...Array(isCluster ? 11 : 10).fill('–'), 'not measured']);
  const { figures, doubled, late, complaints, leftOver } = found;
  const times = [figures.p50Ms, figures.p99Ms, figures.p999Ms, figures.maxMs].map(round);
  const counts = [
    [...figures.wrong, ...figures.degraded],
    [...doubled, ...late],
    [...complaints, ...leftOver],
  ].map(({ length }) => `${length}`);
  const healthy = isCluster ? [healthyText(figures)] : [];
  return rowOf([
    ...names,
    ...times,
    ...openTexts(figures),
    round(figures.recoveryMs),
    ...counts,
    ...healthy,
    missed.length === 0 ? 'ok' : 'missed',
  ]);
}

const openTexts = ({ openMs, askedShare }: Figures): string[] =>
  openMs === undefined ? ['–', '–'] : [round(openMs), round(100 * askedShare)];

const healthyText = ({ healthy }: Figures): string =>
  healthy === undefined ? '–' : `${healthy.degraded}; ${round(healthy.p99Ms)} / ${round(healthy.normalMs)}`;

function leftOut(): string {
  return ['## Left out', '', ...rules.map(({ why }) => `- ${why}.`)].join('\n');
}

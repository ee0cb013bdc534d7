import type { ServerKind } from '../../support/servers.js';
import { type Cell, nameOf } from './cells.js';
import { clusterGround } from './cluster-ground.js';
import { round } from './goals.js';
import { type Ground, type Topology, topologies } from './ground.js';
import { type Outcome, runCell } from './run-cell.js';
import { sentinelGround } from './sentinel-ground.js';
import { singleGround } from './single-ground.js';

const grounds: Readonly<Record<Topology, (kind: ServerKind) => Promise<Ground>>> = {
  single: singleGround,
  sentinel: sentinelGround,
  cluster: clusterGround,
};

export const startGround = (topology: Topology, kind: ServerKind): Promise<Ground> => grounds[topology](kind);

/** Measures cells one after the other; those of a topology share its servers. */
export async function runMatrix(
  cells: readonly Cell[],
  kind: ServerKind,
  onOutcome: (outcome: Outcome) => void,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const topology of topologies) {
    const mine = cells.filter((cell) => cell.topology === topology);
    if (mine.length === 0) continue;
    let ground = await startGround(topology, kind);
    try {
      for (const cell of mine) {
        const outcome = await runCell(cell, ground).catch((error: Error) => failed(cell, error));
        outcomes.push(outcome);
        onOutcome(outcome);
        if (outcome.found !== undefined) continue;
        // Nobody knows what state it was left in.
        await ground.close();
        ground = await startGround(topology, kind);
      }
    } finally {
      await ground.close();
    }
  }
  return outcomes;
}

const failed = (cell: Cell, { message }: Error): Outcome => {
  return { cell, found: undefined, missed: [{ text: message, isTime: false }] };
};

/** One line on how a cell went. */
export function lineOf({ cell, found, missed }: Outcome): string {
  if (found === undefined) return `FAILED ${nameOf(cell)}`;
  const { figures } = found;
  const verdict = missed.length === 0 ? 'ok    ' : 'MISSED';
  const times = `p50 ${round(figures.p50Ms)} p99.9 ${round(figures.p999Ms)} max ${round(figures.maxMs)} ms`;
  const open = figures.openMs === undefined ? '' : `, open ${round(figures.openMs)} ms`;
  return `${verdict} ${nameOf(cell)}: ${times}${open}, back ${round(figures.recoveryMs)} ms`;
}

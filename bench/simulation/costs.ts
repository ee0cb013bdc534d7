import type { Limit } from '../../packages/comporta/src/algorithms/algorithm.js';
import { FIGURES } from '../../packages/server/src/plan/figures.js';

/** µs of a server's one processor. */
export interface Costs {
  /** Of a call with one decision. */
  readonly firstUs: number;
  /** Of each further decision in it, on another subject and on the same. */
  readonly furtherUs: number;
  readonly sameUs: number;
}

/** Of a further decision on the same subject, as docs/benchmark.md has it of one hot key: all share a read. */
const SAME_SUBJECT_US: Readonly<Record<string, number>> = { tokenBucket: 1.6, slidingWindow: 4.3 };

/** As measured; one on another subject adds what a further limit does. `slowdown`: how many times as long it takes. */
export function costsOf(limits: readonly Limit[], slowdown: number): Costs {
  const name = limits[0]?.algorithm.name ?? '';
  const [figures, sameUs] = [FIGURES[name], SAME_SUBJECT_US[name]];
  if (figures === undefined || sameUs === undefined) throw new RangeError(`nobody measured ${name}`);
  const { cpuUs, furtherCpuUs } = figures;
  return { firstUs: cpuUs * slowdown, furtherUs: furtherCpuUs * slowdown, sameUs: sameUs * slowdown };
}

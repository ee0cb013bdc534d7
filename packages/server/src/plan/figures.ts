import { MEASURED } from './measured.js';

/** What one Redis spends on an algorithm, as `npm run bench figures -- --write` measured it. */
export interface Figures {
  /** µs of its one processor per decision, and more for each further limit in the same decision. */
  readonly cpuUs: number;
  readonly furtherCpuUs: number;
  /** Bytes per decision: received, sent, and sent to each replica. */
  readonly inBytes: number;
  readonly outBytes: number;
  readonly replicaBytes: number;
  /** Bytes per subject, by how many entries it has; `1` alone where the size never changes. */
  readonly bytes: Readonly<Record<string, number>>;
}

export const FIGURES: Readonly<Record<string, Figures>> = MEASURED;

/** Whether an algorithm keeps an entry for each admission or holder. */
export const keepsEntries = ({ bytes }: Figures): boolean => Object.keys(bytes).length > 1;

/** Bytes of a subject with that many entries: straight lines between what was measured, and on beyond it. */
export function bytesOf({ bytes }: Figures, entries: number): number {
  const points = Object.entries(bytes).map(([at, size]) => ({ at: Number(at), size }));
  const last = points.length - 1;
  const above = points.findIndex(({ at }) => at >= entries);
  const high = points[above < 0 ? last : above] as Point;
  const low = points[(above < 0 ? last : above) - 1];
  if (low === undefined) return high.size;
  return low.size + ((entries - low.at) * (high.size - low.size)) / (high.at - low.at);
}

interface Point {
  readonly at: number;
  readonly size: number;
}

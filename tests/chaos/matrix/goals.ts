import { TIMEOUT_MS } from './call.js';
import { type Cell, nameOf } from './cells.js';
import type { Figures } from './figures.js';

/** What was found in a cell besides its figures. */
export interface Found {
  readonly figures: Figures;
  /** Subjects with more charges than calls, and commands that went out twice. */
  readonly doubled: readonly string[];
  /** Commands that went out after their decision. */
  readonly late: readonly string[];
  /** Rejections that nobody handled and other words on standard error. */
  readonly complaints: readonly string[];
  readonly leftOver: readonly string[];
  /** From the last `close()` to the end of the process. */
  readonly endedAfterMs: number;
}

export const GOALS = {
  decisionMs: TIMEOUT_MS + 10,
  openMs: 1,
  askedPercent: 5,
  recoveryMs: 1000,
  endMs: 1000,
  healthyFactor: 2,
  /** Below this, a difference in the healthy times is noise. */
  healthyFloorMs: 8,
} as const;

export interface Missed {
  /** The cell, the goal and the figures. */
  readonly text: string;
  /** A matter of time, which a busy machine may be to blame for; everything else is wrong once and for all. */
  readonly isTime: boolean;
}

/** Every goal that was missed. */
export function missedGoals(cell: Cell, found: Found): Missed[] {
  const { figures } = found;
  const missed: Missed[] = [];
  const atMost = (what: string, got: number | undefined, goal: number, unit = ' ms'): void => {
    if (got === undefined || got <= goal) return;
    missed.push({
      text: `${nameOf(cell)}: ${what}: ${round(got)}${unit}, at most ${round(goal)}${unit}`,
      isTime: true,
    });
  };
  const none = (what: string, list: readonly string[], isTime = false): void => {
    if (list.length === 0) return;
    const examples = list.slice(0, 3).join('; ');
    missed.push({ text: `${nameOf(cell)}: ${what}: ${list.length}, such as ${examples}`, isTime });
  };
  atMost('decision p99.9', figures.p999Ms, GOALS.decisionMs);
  atMost('decision p99 with the breaker open', figures.openMs, GOALS.openMs);
  atMost('asked although the breaker had opened', 100 * figures.askedShare, GOALS.askedPercent, '% of calls');
  atMost('decided again after', figures.recoveryMs, GOALS.recoveryMs);
  atMost('degraded again afterwards', figures.relapsed, 0.03 * figures.after, ' calls');
  none('wrong decisions', figures.wrong);
  none('degraded although the store decides', figures.degraded, true);
  none('double charges', found.doubled);
  none('commands sent after their decision', found.late, true);
  none('complaints', found.complaints);
  none('open handles', found.leftOver);
  atMost('end of the process after close', found.endedAfterMs, GOALS.endMs);
  if (figures.healthy !== undefined) {
    const { degraded, p99Ms, normalMs } = figures.healthy;
    atMost('degraded on healthy shards', degraded, 0, ' calls');
    atMost('p99 on healthy shards', p99Ms, Math.max(GOALS.healthyFactor * normalMs, GOALS.healthyFloorMs));
  }
  return missed;
}

/** Three figures at most, as tables show them. */
export function round(value: number): string {
  if (!Number.isFinite(value)) return 'never';
  return value < 1 ? value.toFixed(2) : value < 10 ? value.toFixed(1) : value.toFixed(0);
}

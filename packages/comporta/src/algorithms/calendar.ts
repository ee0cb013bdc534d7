import type { Zone } from './zone.js';

/** From `startMs` up to and without `stopMs`, in ms since the epoch. */
interface Period {
  readonly startMs: number;
  readonly stopMs: number;
}

/** The period that a time falls into. */
export type PeriodAt = (nowMs: number) => Period;

/** Length of periods: whole days or whole months. */
export interface Step {
  readonly unit: 'day' | 'month';
  readonly count: number;
}

const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** How often the calendar repeats its pattern of long and short months, a century's exception apart. */
const LEAP_CYCLE_MONTHS = 48;

/**
 * Periods counted from an anchor in both directions, each a step after the one before. The anchor and
 * the boundaries are local times; a day of the month that a month lacks becomes its last.
 */
export function periodsFrom(zone: Zone, anchorLocalMs: number, step: Step): PeriodAt {
  const boundary = (index: number): number => zone.firstAt(add(anchorLocalMs, step, index));
  return (nowMs) => {
    let index = Math.floor(distance(anchorLocalMs, zone.localMs(nowMs), step.unit) / step.count);
    let startMs = boundary(index);
    while (startMs > nowMs) startMs = boundary(--index);
    let stopMs = boundary(++index);
    while (stopMs <= nowMs) {
      startMs = stopMs;
      stopMs = boundary(++index);
    }
    return { startMs, stopMs };
  };
}

/** Periods that end when the zone's clock shows a full hour or is changed. */
export function hoursOf(zone: Zone): PeriodAt {
  return (nowMs) => {
    const localMs = zone.localMs(nowMs);
    const offset = localMs - nowMs;
    const fullMs = Math.floor(localMs / HOUR_MS) * HOUR_MS - offset;
    const changedIn = (fromMs: number, toMs: number): boolean =>
      zone.localMs(fromMs) - fromMs !== zone.localMs(toMs) - toMs;
    return {
      startMs: changedIn(fullMs, nowMs) ? zone.nextChange(fullMs, nowMs) : fullMs,
      stopMs: changedIn(nowMs, fullMs + HOUR_MS) ? zone.nextChange(nowMs, fullMs + HOUR_MS) : fullMs + HOUR_MS,
    };
  };
}

/** The longest of the periods from an anchor by the calendar, changes of clocks apart. */
export function longestMs(anchorLocalMs: number, step: Step): number {
  if (step.unit === 'day') return step.count * DAY_MS;
  const ends = Array.from({ length: LEAP_CYCLE_MONTHS + 1 }, (_, index) => add(anchorLocalMs, step, index));
  return Math.max(...ends.slice(1).map((end, i) => end - (ends[i] as number)));
}

/** Ms since the epoch of `2026-01-31`, `2026-01-31T09:30` or `2026-01-31T09:30:00`, read as UTC; else `undefined`. */
export function parseLocal(text: string): number | undefined {
  const found = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text);
  if (found === null) return undefined;
  const [year, month, day, hour, minute, second] = found.slice(1).map((part = '0') => Number(part)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  const back = new Date(ms).toISOString();
  return back.startsWith(text) ? ms : undefined;
}

/** Always from the anchor itself, so that the 31st comes back after a shorter month. */
function add(localMs: number, { unit, count }: Step, times: number): number {
  if (unit === 'day') return localMs + times * count * DAY_MS;
  const date = new Date(localMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + times * count];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), lastDay);
  return Date.UTC(year, month, day) + (localMs - Math.floor(localMs / DAY_MS) * DAY_MS);
}

/** Whole days, or months by their numbers alone, from one local time to another. */
function distance(fromMs: number, toMs: number, unit: Step['unit']): number {
  if (unit === 'day') return Math.floor((toMs - fromMs) / DAY_MS);
  const [from, to] = [new Date(fromMs), new Date(toMs)];
  return (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth();
}

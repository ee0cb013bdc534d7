import { ComportaError, show } from '../core/errors.js';
import { type Algorithm, type CompiledLimit, type Param, TTL_MARGIN_MS } from './algorithm.js';
import { DAY_MS, hoursOf, longestMs, type PeriodAt, parseLocal, periodsFrom, type Step } from './calendar.js';
import { UNITS_MAX, USE_MAX } from './ranges.js';
import { shareOf } from './share.js';
import { type Zone, zoneOf } from './zone.js';

interface State {
  startMs: number;
  count: number;
}

/** Names of the periods of `per`, in the order of its choices. */
const PERIODS = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const;

const UNITS: Readonly<Record<string, Step & { readonly most: number }>> = {
  day: { unit: 'day', count: 1, most: 3660 },
  week: { unit: 'day', count: 7, most: 520 },
  month: { unit: 'month', count: 1, most: 120 },
  quarter: { unit: 'month', count: 3, most: 40 },
  year: { unit: 'month', count: 12, most: 10 },
};

/** Weeks begin with a Monday, the other periods with the year: 1 January 1970, or Monday before it. */
const MONDAY_MS = -3 * DAY_MS;

const params: Readonly<Record<string, Param>> = {
  limit: { kind: 'integer', min: 0, max: UNITS_MAX, doc: 'most cost admitted in one period' },
  per: {
    kind: 'choice',
    choices: PERIODS,
    optional: true,
    doc: 'period of the calendar; weeks begin on Monday. Either this or `every` with `from`',
  },
  every: {
    kind: 'text',
    optional: true,
    doc: 'a number and `days`, `weeks`, `months`, `quarters` or `years`, ten years at most: periods from `from` on',
  },
  from: {
    kind: 'text',
    optional: true,
    doc: 'local date or time such as `2026-01-31` or `2026-01-31T09:30`; a day that a month lacks is its last',
  },
  timeZone: { kind: 'text', default: 'UTC', doc: 'IANA name of the time zone, such as `America/Sao_Paulo`' },
  prorate: {
    kind: 'flag',
    default: false,
    doc: 'with `per`: the period of `from` has the part of the limit that is left of it from then on, rounded up',
  },
};

/** `part` is a pro-rated limit and `partStop` the end of its period, where that is this period or the next. */
type Args = readonly [limit: number, start: number, stop: number, part: number, partStop: number];

/** N per period of the calendar. Twice N can pass around a boundary, as with any window that is fixed. */
export const quota: Algorithm<State> = {
  name: 'quota',
  tag: 'q',
  clock: 'ms',
  args: ['limit', 'start', 'stop', 'part', 'partStop'],
  span: ['start', 'stop'],
  params,
  compile: compileQuota,

  evaluate(state, now, cost, args) {
    const [limit, start, stop, part, partStop] = args as Args;
    let startMs = start;
    let count = 0;
    let stepped = false;
    if (state !== undefined) {
      stepped = now < state.startMs;
      if (state.startMs >= start) count = state.count;
      // A period that others believe to have begun within this one, while the zone is being changed.
      if (!stepped) startMs = Math.max(start, state.startMs);
    }
    const room = Math.max(0, (stop === partStop ? part : limit) - count);
    const waitMs = (cost > part && stop < partStop ? partStop : stop) - now;
    return { state: { startMs, count }, retryAfterMs: cost > limit ? -1 : cost <= room ? 0 : waitMs, stepped };
  },

  commit({ startMs, count }, _now, cost, _args, _holder, stored) {
    const charged = Math.min(USE_MAX, count + cost);
    if (stored === undefined) return { startMs, count: charged };
    stored.startMs = startMs;
    stored.count = charged;
    return stored;
  },

  sum: {
    words: ['since', 'count'],
    before: ([startMs, count], rest) => ({ startMs: startMs as number, count: (count as number) - rest }),
  },

  describe({ count }, now, args) {
    const [limit, , stop, part, partStop] = args as Args;
    const remaining = Math.max(0, (stop === partStop ? part : limit) - count);
    if (count === 0) return { remaining, resetAfterMs: 0, nextAfterMs: 0 };
    const growsAt = remaining >= part && stop < partStop ? partStop : stop;
    return { remaining, resetAfterMs: stop - now, nextAfterMs: growsAt - now };
  },

  assume(remaining, _resetAfterMs, _now, args) {
    const [limit, start, stop, part, partStop] = args as Args;
    return { startMs: start, count: Math.max(0, (stop === partStop ? part : limit) - remaining) };
  },

  ttlMs: (_state, now, args) => (args as Args)[2] - now + TTL_MARGIN_MS,

  capacity: ([limit]) => limit as number,

  share(args, processes, atLeast) {
    const [limit, start, stop, part, partStop] = args as Args;
    return [shareOf(limit, processes, atLeast), start, stop, shareOf(part, processes, atLeast), partStop];
  },

  refund(state, now, amount, atUs, args) {
    const { startMs, count } = quota.evaluate(state, now, 0, args).state;
    return count === 0 || atUs < startMs * 1000 ? undefined : { startMs, count: Math.max(0, count - amount) };
  },
};

interface Settings {
  readonly limit: number;
  readonly per: number | undefined;
  readonly every: string | undefined;
  readonly from: string | undefined;
  readonly timeZone: string;
  readonly prorate: number;
}

function compileQuota(settings: Readonly<Record<string, number | string | undefined>>): CompiledLimit {
  const { limit, per, every, from, timeZone, prorate } = settings as unknown as Settings;
  const zone = zoneOf(timeZone);
  if (zone === undefined) throw refusal('timeZone', `expected an IANA time zone such as "Europe/Lisbon"`, timeZone);
  if ((per === undefined) === (every === undefined)) {
    throw refusal(per === undefined ? 'per' : 'every', 'give either per, or every with from');
  }
  if (every !== undefined && from === undefined) throw refusal('from', 'missing: every counts periods from it');
  if (prorate === 1 && (per === undefined || from === undefined)) {
    throw refusal('prorate', 'needs per and from; periods that are counted from a date are all whole');
  }
  if (per !== undefined && from !== undefined && prorate === 0) {
    throw refusal('from', 'goes with every, or with per and prorate: true');
  }
  const fromMs = from === undefined ? 0 : readFrom(from);
  const [periodAt, windowMs] =
    every === undefined ? calendarOf(zone, per as number) : billingOf(zone, fromMs, readEvery(every));
  const argsOf = prorate === 1 ? proratedArgs(limit, periodAt, zone.firstAt(fromMs)) : wholeArgs(limit, periodAt);
  return { args: argsOf(0), argsAt: cached(argsOf), limit, windowMs };
}

type ArgsAt = (nowMs: number) => Args;

const wholeArgs =
  (limit: number, periodAt: PeriodAt): ArgsAt =>
  (nowMs) => {
    const { startMs, stopMs } = periodAt(nowMs);
    return [limit, startMs, stopMs, limit, 0];
  };

function proratedArgs(limit: number, periodAt: PeriodAt, fromMs: number): ArgsAt {
  const first = periodAt(fromMs);
  const [leftMs, wholeMs] = [BigInt(first.stopMs - fromMs), BigInt(first.stopMs - first.startMs)];
  const part = Number((BigInt(limit) * leftMs + wholeMs - 1n) / wholeMs);
  return (nowMs) => {
    const { startMs, stopMs } = periodAt(nowMs);
    const isNear = stopMs === first.startMs || stopMs === first.stopMs;
    return isNear ? [limit, startMs, stopMs, part, first.stopMs] : [limit, startMs, stopMs, limit, 0];
  };
}

/** A period holds for many calls; only the first one of each asks for the zone's rules. */
function cached(argsOf: ArgsAt): ArgsAt {
  let known = argsOf(0);
  return (nowMs) => {
    if (nowMs < known[1] || nowMs >= known[2]) known = argsOf(nowMs);
    return known;
  };
}

function calendarOf(zone: Zone, per: number): [PeriodAt, windowMs: number] {
  const name = PERIODS[per] as (typeof PERIODS)[number];
  if (name === 'hour') return [hoursOf(zone), DAY_MS / 24];
  return billingOf(zone, name === 'week' ? MONDAY_MS : 0, UNITS[name] as Step);
}

function billingOf(zone: Zone, anchorMs: number, step: Step): [PeriodAt, windowMs: number] {
  return [periodsFrom(zone, anchorMs, step), longestMs(anchorMs, step)];
}

function readFrom(from: string): number {
  const ms = parseLocal(from);
  if (ms === undefined || ms < 0 || ms >= YEAR_3000_MS) {
    throw refusal('from', 'expected a date such as "2026-01-31" or "2026-01-31T09:30", from 1970 to 2999', from);
  }
  return ms;
}

const YEAR_3000_MS = Date.UTC(3000, 0);

function readEvery(every: string): Step {
  const [, digits, name = ''] = /^(\d{1,4}) (day|week|month|quarter|year)s?$/.exec(every) ?? [];
  const [times, unit] = [Number(digits), UNITS[name]];
  if (unit === undefined || times < 1 || times > unit.most) {
    throw refusal('every', 'expected a period such as "1 month", "2 weeks" or "10 days", up to ten years', every);
  }
  return { unit: unit.unit, count: times * unit.count };
}

function refusal(field: string, message: string, got?: string): ComportaError {
  return new ComportaError(
    'ERR_LIMIT',
    `quota.${field}: ${message}${got === undefined ? '' : `, got ${show(got)}`}`,
    field,
  );
}

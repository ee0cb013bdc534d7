import type { Limit } from '../algorithms/algorithm.js';
import { limitKinds } from '../algorithms/limits.js';
import { UNITS_MAX } from '../algorithms/ranges.js';
import { type Duration, durationMs } from '../core/duration.js';
import { ComportaError, show } from '../core/errors.js';
import type { Plan } from '../stores/store.js';
import type { LimiterOptions } from './limiter.js';
import { type allLimits, limitsOf } from './plan.js';

/** Units fetched ahead for hot subjects: see {@link LimiterOptions.lease}. */
export interface LeaseSettings {
  /**
   * How far all processes together may go beyond each limit: a part of it such as `5%`, or a number of units.
   * It is shared by the processes; where that leaves one fewer than 2, nothing is fetched ahead.
   */
  readonly maxOvershoot: string | number;
  /** How long a process may use what it fetched: 10 ms to 1 s, 100 ms by default. */
  readonly lasts?: Duration;
  /** Sliding windows: never beyond the limit, for which what is admitted counts for `lasts` longer. */
  readonly strict?: boolean;
}

/** What the leases of a limiter add to one of its limits. */
export interface LeaseBound {
  /** Of the limit. */
  readonly id: string;
  /** Most units that all processes together admit beyond what the limit alone would, in any time whatever. */
  readonly units: number;
}

/** Settings that were checked. */
export interface LeaseRule {
  readonly lastsMs: number;
  readonly isStrict: boolean;
  /** Units of a limit that all processes together may hold at once. */
  unitsOf(limit: Limit): number;
}

/** Fewer are not worth a lease. */
export const LEAST_UNITS = 2;

const LASTS_MS = 100;
const LASTS_MIN_MS = 10;
/** Processes that join are counted by all others before they lease; longer leases would have to be waited for. */
const LASTS_MAX_MS = 1000;

const FIELDS: readonly string[] = ['maxOvershoot', 'lasts', 'strict'];

/** Windows that begin anew for everybody at once: leases end with them, and so carry nothing over. */
const BOUNDED: readonly string[] = ['fixedWindow', 'quota'];

/** Of these every decision asks what stands for the subject, which only the store knows. */
const ASKED = ['overrides', 'revision'] as const;

/** The leases of a policy with these limits, its plans' among them; throws `ERR_OPTION` for what cannot be meant. */
export function checkLease(options: LimiterOptions, all: ReturnType<typeof allLimits>): LeaseRule | undefined {
  if (options.lease === undefined) return undefined;
  const clash = ASKED.find((name) => options[name] !== undefined && options[name] !== false);
  if (clash !== undefined) throw refusal('lease', `cannot be used with ${clash}: only the store knows who has others`);
  if (typeof options.blocks === 'object') {
    throw refusal('lease', 'cannot be used with blocks after refusals, which only the store counts; blocks: true can');
  }
  const rule = ruleOf(options.lease);
  for (const { limit, whose } of all) checkLimit(limit, rule, whose);
  return rule;
}

/** What leases add to each limit at most; throws a `ComportaError` for what cannot be meant. */
export function leaseBounds(limits: LimiterOptions['limits'], lease: LeaseSettings): readonly LeaseBound[] {
  const [all, rule] = [limitsOf(limits, 'limits'), ruleOf(lease)];
  for (const limit of all) checkLimit(limit, rule);
  return boundsOf(all, rule);
}

/** Of a policy's limits and of those of its plans: where they share an id, the larger. */
export function boundsOfAll(all: readonly Plan['limits'][], rule: LeaseRule | undefined): readonly LeaseBound[] {
  const largest = new Map<string, number>();
  for (const { id, units } of all.flatMap((limits) => boundsOf(limits, rule))) {
    largest.set(id, Math.max(units, largest.get(id) ?? 0));
  }
  return [...largest].map(([id, units]) => ({ id, units }));
}

function boundsOf(limits: Plan['limits'], rule: LeaseRule | undefined): readonly LeaseBound[] {
  if (rule === undefined) return [];
  const isUsed = limits.every((limit) => rule.unitsOf(limit) >= LEAST_UNITS);
  return limits.map((limit) => ({ id: limit.id, units: isUsed ? unitsAbove(limit, rule) : 0 }));
}

/** The limits as the store counts by them: what a strict lease may still admit counts for as long as it lasts. */
export function limitsUnder(rule: LeaseRule | undefined, limits: Plan['limits']): Plan['limits'] {
  if (rule?.isStrict !== true) return limits;
  return limits.map((limit) => (isLog(limit) ? longer(limit, rule.lastsMs) : limit));
}

function longer(limit: Plan['limits'][number], byMs: number): Plan['limits'][number] {
  const { algorithm, settings, windowMs, id } = limit;
  const built = limitKinds[algorithm.name]?.build({ ...settings, window: windowMs + byMs }, id) ?? limit;
  return { ...built, id };
}

/** All that is held at once may be used late; of a bucket no more than it regains while a lease lasts. */
function unitsAbove(limit: Limit, rule: LeaseRule): number {
  if (BOUNDED.includes(limit.algorithm.name) || (rule.isStrict && isLog(limit))) return 0;
  const units = rule.unitsOf(limit);
  if (limit.algorithm.name !== 'tokenBucket') return units;
  const [, token, rate, tick] = limit.args as [number, number, number, number];
  return Math.min(units, Math.ceil((rule.lastsMs * 1000 * rate) / (token * tick)));
}

const isLog = ({ algorithm }: Limit): boolean => algorithm.name === 'slidingWindow';

function checkLimit(limit: Limit, { isStrict }: LeaseRule, whose = ''): void {
  const { name, holds } = limit.algorithm;
  if (holds) {
    const why = 'a place is held by one request, not fetched ahead';
    throw refusal('lease', `cannot be used with ${name}${whose}: ${why}`);
  }
  if (!isStrict || isLog(limit) || BOUNDED.includes(name)) return;
  const which = ['slidingWindow', ...BOUNDED].join(', ');
  throw refusal('lease.strict', `cannot be kept by ${name}${whose}, only by ${which}; leave strict out`);
}

function ruleOf(lease: LeaseSettings): LeaseRule {
  if (typeof lease !== 'object' || lease === null) {
    throw refusal('lease', `expected { maxOvershoot, lasts, strict }, got ${show(lease)}`);
  }
  const unknown = Object.keys(lease).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw refusal(`lease.${unknown}`, `unknown; there are ${FIELDS.join(', ')}`);
  const { maxOvershoot, lasts = LASTS_MS, strict = false } = lease;
  if (typeof strict !== 'boolean') throw refusal('lease.strict', `expected true or false, got ${show(strict)}`);
  const lastsMs = durationMs(lasts, 'lease.lasts');
  if (lastsMs < LASTS_MIN_MS || lastsMs > LASTS_MAX_MS) {
    throw refusal('lease.lasts', `expected 10 ms to 1 s, got ${show(lasts)}`);
  }
  return { lastsMs, isStrict: strict, unitsOf: unitsOf(maxOvershoot) };
}

function unitsOf(most: string | number): LeaseRule['unitsOf'] {
  if (typeof most === 'number' && Number.isSafeInteger(most) && most >= LEAST_UNITS && most <= UNITS_MAX) {
    return ({ limit }) => Math.min(most, limit);
  }
  const percent = typeof most === 'string' ? Number(/^(\d{1,3}(?:\.\d{1,6})?)%$/.exec(most)?.[1]) : Number.NaN;
  if (percent > 0 && percent <= 100) return ({ limit }) => Math.floor((limit * percent) / 100);
  const expected = `a text such as "5%", up to 100%, or a whole number from ${LEAST_UNITS} to ${UNITS_MAX}`;
  throw refusal('lease.maxOvershoot', `expected ${expected}, got ${show(most)}`);
}

function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_OPTION', `${field}: ${message}`, field);
}

import type { LimitState } from '../core/decision.js';
import { durationMs, formatDuration } from '../core/duration.js';
import type { Limiter } from '../limiter/limiter.js';

/** Largest Integer of a structured field: 15 digits. */
const INTEGER_MAX = 999_999_999_999_999;

/** From this length on a window is advertised smoothly: see `msPerUnit`. */
const SMOOTH_FROM_MS = 60_000;

/** What the fields of one limit need that never changes. */
export interface LimitFields extends Pick<LimitState, 'id' | 'limit' | 'windowMs'> {
  /** Name of the item: the policy's, with the limit's id when it has several. */
  readonly name: string;
  /** The name as a structured-field String. */
  readonly quoted: string;
  /** How the item of `RateLimit` begins: `"api";r=`. */
  readonly item: string;
  /** `10;w=1`, as drafts up to 7 write a policy. */
  readonly quota: string;
  readonly windowSeconds: number;
  /** Time that one unit takes on average; 0 for short windows, whose quota may be used at once. */
  readonly msPerUnit: number;
  /** What the limit allows, in words. */
  readonly rule: string;
}

/** What the fields of one policy need that never changes; limits in the policy's order. */
export interface PolicyFields {
  readonly limits: readonly LimitFields[];
  /** The policy's items of `RateLimit-Policy`, by name (draft 8 on) and without (drafts 6 and 7). */
  readonly named: string;
  readonly unnamed: string;
}

/** What is told of a limit: of its whole rule, or only of its numbers where that is all that is known. */
type Described = Limiter['limits'][number] | LimitState;

/** Works out the fields of a policy's limits. */
export function describeLimits(policy: string, limits: readonly Described[]): PolicyFields {
  const items = limits.map((limit) => describeLimit(limits.length === 1 ? policy : `${policy}.${limit.id}`, limit));
  return {
    limits: items,
    named: items.map(({ quoted, quota }) => `${quoted};q=${quota}`).join(', '),
    unnamed: items.map(({ quota }) => quota).join(', '),
  };
}

function describeLimit(name: string, limit: Described): LimitFields {
  const windowSeconds = Math.max(1, seconds(limit.windowMs));
  return {
    id: limit.id,
    limit: limit.limit,
    windowMs: limit.windowMs,
    name,
    quoted: `"${name}"`,
    item: `"${name}";r=`,
    quota: `${integer(limit.limit)};w=${windowSeconds}`,
    windowSeconds,
    msPerUnit: limit.windowMs > SMOOTH_FROM_MS && limit.limit > 0 ? limit.windowMs / limit.limit : 0,
    rule: 'algorithm' in limit ? ruleOf(limit) : numbersOf(limit),
  };
}

/** Whole number that a structured field can hold, rounded up; never NaN, never negative. */
export function integer(value: number): number {
  return value > 0 ? Math.min(INTEGER_MAX, Math.ceil(value)) : 0;
}

/** Milliseconds as whole seconds, rounded up: a client told less would come too early. */
export function seconds(ms: number): number {
  return integer(ms / 1000);
}

const requestsOf = ({ limit }: Described): string => `${limit} ${limit === 1 ? 'request' : 'requests'}`;

const numbersOf = (state: LimitState): string =>
  `allows this caller ${requestsOf(state)} within ${formatDuration(state.windowMs)}`;

const PERIODS: Readonly<Record<string, string>> = {
  '1s': 'second',
  '1m': 'minute',
  '1h': 'hour',
  '1d': 'day',
  '1w': 'week',
};

/** What follows `per` and `in any`: `second`, `10s`. */
function periodOf(ms: number): string {
  const text = formatDuration(ms);
  return PERIODS[text] ?? text;
}

function ruleOf(of: Limiter['limits'][number]): string {
  const { algorithm, settings, windowMs } = of;
  const requests = requestsOf(of);
  if (algorithm.holds) return `allows ${requests} at a time`;
  if (settings.capacity !== undefined && settings.refill !== undefined) {
    const every = periodOf(durationMs(settings.every, 'every'));
    return `allows ${requests} at once, refilled at ${settings.refill} per ${every}`;
  }
  if (algorithm.name === 'quota') {
    return `allows ${requests} per ${settings.per ?? String(settings.every).replace(/^1 /, '')}`;
  }
  return `allows ${requests} ${algorithm.name.startsWith('sliding') ? 'in any' : 'per'} ${periodOf(windowMs)}`;
}

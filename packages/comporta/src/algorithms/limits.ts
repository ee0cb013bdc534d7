import { type Duration, durationMs } from '../core/duration.js';
import { ComportaError, show } from '../core/errors.js';
import type { Algorithm, Limit, Param } from './algorithm.js';
import { algorithms } from './registry.gen.js';

type Settings = Readonly<Record<string, Duration | boolean | undefined>>;

/** Builds a limit from settings as a person writes them; throws `ERR_LIMIT` or `ERR_DURATION` naming the field. */
function buildLimit(algorithm: Algorithm, settings: Settings, id?: string): Limit {
  if (typeof settings !== 'object' || settings === null) {
    throw new ComportaError('ERR_LIMIT', `${algorithm.name}: expected settings, got ${show(settings)}`, algorithm.name);
  }
  for (const name of Object.keys(settings)) {
    if (name !== 'id' && !Object.hasOwn(algorithm.params, name)) {
      const known = Object.keys(algorithm.params).join(', ');
      throw new ComportaError('ERR_LIMIT', `${algorithm.name}: unknown setting ${show(name)}; it takes ${known}`, name);
    }
  }
  const values = Object.entries(algorithm.params).map(([name, param]) => [
    name,
    read(algorithm, name, param, settings[name]),
  ]);
  if (id !== undefined) checkName(id, `${algorithm.name}: id`);
  const written = Object.entries(settings).filter(([name, value]) => name !== 'id' && value !== undefined);
  return {
    id,
    algorithm,
    settings: Object.fromEntries(written) as Record<string, Duration | boolean>,
    ...algorithm.compile(Object.fromEntries(values)),
  };
}

/** The integer, the ms of a duration, the index of a choice, 1 or 0 for a flag; or a text as it is. */
function read(algorithm: Algorithm, name: string, param: Param, given: unknown): number | string | undefined {
  const field = `${algorithm.name}.${name}`;
  const value = given ?? param.default;
  if (value === undefined && param.optional) return undefined;
  if (value === undefined) throw new ComportaError('ERR_LIMIT', `${field}: missing (${param.doc})`, name);
  if (param.kind === 'choice') {
    const index = (param.choices ?? []).indexOf(value as string);
    if (index >= 0) return index;
    throw new ComportaError('ERR_LIMIT', `${field}: expected ${param.choices?.join(' or ')}, got ${show(value)}`, name);
  }
  if (param.kind === 'text' || param.kind === 'flag') return readPlain(field, name, param.kind, value);
  const number = param.kind === 'duration' ? durationMs(value, field, name) : value;
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = param;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < min || number > max) {
    const unit = param.kind === 'duration' ? ' ms' : '';
    throw new ComportaError(
      'ERR_LIMIT',
      `${field}: expected a whole number from ${min} to ${max}${unit}, got ${show(value)}`,
      name,
    );
  }
  return number;
}

function readPlain(field: string, name: string, kind: 'text' | 'flag', value: unknown): number | string {
  if (kind === 'flag' && typeof value === 'boolean') return value ? 1 : 0;
  if (kind === 'text' && typeof value === 'string' && value !== '') return value;
  const expected = kind === 'flag' ? 'true or false' : 'a text';
  throw new ComportaError('ERR_LIMIT', `${field}: expected ${expected}, got ${show(value)}`, name);
}

/** Throws `ERR_POLICY` unless a name can stand in keys and header fields as it is. */
export function checkName(name: unknown, field: string): asserts name is string {
  if (typeof name !== 'string' || !/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
    throw new ComportaError(
      'ERR_POLICY',
      `${field}: expected 1 to 64 characters of A-Z a-z 0-9 _ . -, got ${show(name)}`,
      field,
    );
  }
}

/** Gives every limit an id unique in its policy: its own, else its algorithm's name, numbered from the second on. */
export function withIds(limits: readonly Limit[], field = 'limits'): (Limit & { readonly id: string })[] {
  const taken = new Set<string>();
  return limits.map((limit, i) => {
    const base = limit.id ?? limit.algorithm.name;
    let id = base;
    for (let n = 2; taken.has(id); n++) {
      if (limit.id !== undefined)
        throw new ComportaError('ERR_LIMIT', `${field}[${i}]: id ${show(id)} is used twice`, `${field}[${i}].id`);
      id = `${base}-${n}`;
    }
    taken.add(id);
    return { ...limit, id };
  });
}

interface Named {
  /** Part of the key, unique in the policy; the algorithm's name when left out. Renaming it starts a fresh count. */
  readonly id?: string;
}

export interface TokenBucketSettings extends Named {
  /** Most tokens the bucket holds: the largest burst. 0 refuses everything. */
  readonly capacity: number;
  /** Tokens added, evenly spread, in each `every`. */
  readonly refill: number;
  readonly every: Duration;
}

export interface WindowSettings extends Named {
  /** Most cost admitted in one window. 0 refuses everything. */
  readonly limit: number;
  readonly window: Duration;
}

export interface SlidingWindowSettings extends WindowSettings {
  /**
   * How Redis keeps a log that begins: `compact` (default) takes about an eighth of the memory of `sortedSet`.
   * A log in use goes on as it is, so either can be deployed at any time.
   */
  readonly storage?: 'compact' | 'sortedSet';
}

export interface FixedWindowSettings extends WindowSettings {
  /** Windows start at multiples of their length since 1970 UTC (default), or with the first admitted request. */
  readonly align?: 'epoch' | 'first-hit';
}

export interface QuotaSettings extends Named {
  /** Most cost admitted in one period. 0 refuses everything. */
  readonly limit: number;
  /** Period of the zone's calendar; weeks begin on Monday. Either this or `every` with `from`. */
  readonly per?: 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year';
  /** Length of periods counted from `from`: `1 month`, `2 weeks`, `10 days`, `1 quarter`; ten years at most. */
  readonly every?: string;
  /** Date or time of the zone that periods are counted from, in both directions: `2026-01-31`, `2026-01-31T09:30`. */
  readonly from?: string;
  /** IANA name such as `America/Sao_Paulo`; `UTC` by default. */
  readonly timeZone?: string;
  /** With `per`: the period that `from` falls into has the part of the limit that is left of it then, rounded up. */
  readonly prorate?: boolean;
}

export interface ConcurrencySettings extends Named {
  /** Most requests at once. 0 refuses everything. */
  readonly limit: number;
  /** How long a place is held without a sign of life: 100 ms to 24 h, 15 s by default. */
  readonly lease?: Duration;
}

const build = (name: string, settings: Named): Limit =>
  buildLimit(algorithms[name] as Algorithm, settings as Settings, settings?.id);

/** Bursts up to `capacity`, then `refill` per `every`, evenly. At most capacity + rate * t pass in any time t. */
export function tokenBucket(settings: TokenBucketSettings): Limit {
  return build('tokenBucket', settings);
}

/** At most `limit` in every window of that length, wherever it starts. Exact; one stored entry per admitted request. */
export function slidingWindow(settings: SlidingWindowSettings): Limit {
  return build('slidingWindow', settings);
}

/** Sliding window estimated from two counters: constant memory, but close to twice the limit can pass at worst. */
export function slidingWindowCounter(settings: WindowSettings): Limit {
  return build('slidingWindowCounter', settings);
}

/** At most `limit` per aligned window; twice the limit can pass around a boundary. */
export function fixedWindow(settings: FixedWindowSettings): Limit {
  return build('fixedWindow', settings);
}

/** At most `limit` per hour, day, week, month, quarter or year of a time zone, or per period from a billing date. */
export function quota(settings: QuotaSettings): Limit {
  return build('quota', settings);
}

/** At most `limit` requests at once; a holder that dies frees its place when its `lease` ends. */
export function concurrency(settings: ConcurrencySettings): Limit {
  return build('concurrency', settings);
}

/** A kind of limit by name, for configuration files: its settings and how to build it. */
export interface LimitKind {
  readonly params: Readonly<Record<string, Param>>;
  build(settings: Readonly<Record<string, unknown>>, id?: string): Limit;
}

/** Every kind of limit. */
export const limitKinds: Readonly<Record<string, LimitKind>> = Object.fromEntries(
  Object.entries(algorithms).map(([name, algorithm]) => [
    name,
    {
      params: algorithm.params,
      build: (settings, id = settings?.id as string | undefined) => buildLimit(algorithm, settings as Settings, id),
    } satisfies LimitKind,
  ]),
);

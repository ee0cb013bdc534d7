import { ComportaError, show } from './errors.js';

/** A length of time: whole milliseconds, or text such as `250ms`, `10s`, `1m`, `1h30m`, `7d`, `2w`. */
export type Duration = number | string;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Milliseconds of a {@link Duration}; throws `ERR_DURATION` naming the setting when it is not one. */
export function durationMs(value: unknown, name: string, field: string = name): number {
  const ms = msOf(value);
  if (ms === undefined) {
    throw new ComportaError(
      'ERR_DURATION',
      `${name}: expected a duration such as "10s", "1m" or whole milliseconds, got ${show(value)}`,
      field,
    );
  }
  return ms;
}

/** Milliseconds of a {@link Duration}; `undefined` when it is not one. */
export function msOf(value: unknown): number | undefined {
  const ms = typeof value === 'number' ? value : parse(value);
  return Number.isSafeInteger(ms) && Number(ms) >= 0 ? ms : undefined;
}

function parse(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^(\d{1,15}(ms|s|m|h|d|w))+$/.test(value)) return undefined;
  let ms = 0;
  for (const [, count, unit] of value.matchAll(/(\d+)(ms|s|m|h|d|w)/g))
    ms += Number(count) * (UNIT_MS[unit as string] as number);
  return ms;
}

/** Shortest text for a duration, such as `90s` for 90 000 ms. */
export function formatDuration(ms: number): string {
  for (const unit of ['w', 'd', 'h', 'm', 's']) {
    const unitMs = UNIT_MS[unit] as number;
    if (ms >= unitMs && ms % unitMs === 0) return `${ms / unitMs}${unit}`;
  }
  return `${ms}ms`;
}

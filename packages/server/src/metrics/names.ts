/** What a family of samples is. */
export type Kind = 'counter' | 'gauge' | 'histogram';

const UNITS: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes', '1': 'ratio' };

/** The name that Prometheus knows an instrument of OpenTelemetry by, without the `_total` of counters. */
export function familyName(name: string, unit: string | undefined): string {
  const word = unitWord(unit);
  const base = name.replace(/[^a-zA-Z0-9_]/g, '_');
  return word === undefined || base.endsWith(`_${word}`) ? base : `${base}_${word}`;
}

/** `seconds`, `bytes` or `ratio`; `undefined` for units that name what is counted. */
export function unitWord(unit: string | undefined): string | undefined {
  return unit === undefined ? undefined : UNITS[unit];
}

/** `comporta.policy` is `policy`; `error.type` is `error_type`. */
export function labelName(attribute: string): string {
  return attribute.replace(/^comporta\./, '').replace(/[^a-zA-Z0-9_]/g, '_');
}

/** Units of Envoy's rate limits, by their numbers in the protocol; a window is a unit's fixed length. */
export type Unit = 'SECOND' | 'MINUTE' | 'HOUR' | 'DAY' | 'MONTH' | 'YEAR' | 'WEEK';

const WINDOWS_S: Readonly<Record<Unit, number>> = {
  SECOND: 1,
  MINUTE: 60,
  HOUR: 3600,
  DAY: 86_400,
  MONTH: 30 * 86_400,
  YEAR: 365 * 86_400,
  WEEK: 7 * 86_400,
};

/** The most that a limit of the library can be. */
export const LIMIT_MAX = 1_000_000_000;

/** In the order of their numbers, which begin at 1: 0 is "unknown". */
export const UNITS: readonly Unit[] = Object.keys(WINDOWS_S) as Unit[];

export const windowSeconds = (unit: Unit): number => WINDOWS_S[unit];

/** A unit by its number in the protocol. */
export const unitOf = (number: number): Unit | undefined => UNITS[number - 1];

export const numberOf = (unit: Unit): number => UNITS.indexOf(unit) + 1;

/** A unit by its name in any case. */
export function unitNamed(name: unknown): Unit | undefined {
  const upper = typeof name === 'string' ? name.toUpperCase() : '';
  return UNITS.find((unit) => unit === upper);
}

export interface Spread {
  readonly median: number | undefined;
  readonly min: number | undefined;
  readonly max: number | undefined;
}

export function quantile(sorted: readonly number[], share: number): number;
export function spread(numbers: readonly number[]): Spread;
export function ratios(these: readonly number[], those: readonly number[]): Spread;
export function mostWithin(intervals: readonly (readonly [number, number])[], lengthMs: number): number;

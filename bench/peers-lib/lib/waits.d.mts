export type Recorded = readonly [sentMs: number, answeredMs: number | undefined, answer: number | 'e' | undefined];

export function faultFigures(
  records: readonly Recorded[],
  fromMs: number,
  toMs: number,
  endMs: number,
): {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly errors: number;
  readonly unanswered: number;
  readonly recoveredMs: number | undefined;
};

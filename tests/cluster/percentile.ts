/** The value that a share `p` of the numbers does not exceed. */
export function percentile(numbers: Iterable<number>, p: number): number {
  const sorted = Float64Array.from(numbers).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0;
}

/** `p50/p99/max` of times, for the log. */
export function timesText(tookMs: Iterable<number>): string {
  const list = [...tookMs];
  return `${[0.5, 0.99, 1].map((p) => percentile(list, p).toFixed(1)).join('/')} ms p50/p99/max`;
}

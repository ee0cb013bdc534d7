/** The value below which a share of ascending numbers lies. */
export function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/** Median, least and most of the numbers that are some. */
export function spread(numbers) {
  const sorted = numbers.filter((number) => Number.isFinite(number)).sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), min: sorted[0], max: sorted.at(-1) };
}

/** Of two rows of figures, one per round: the ratio of each round, and its spread. */
export function ratios(these, those) {
  return spread(these.map((figure, round) => figure / those[round]));
}

/** Most intervals `[from, to]` that lie wholly inside one stretch of `lengthMs`, wherever it begins. */
export function mostWithin(intervals, lengthMs) {
  const byStart = [...intervals].sort((a, b) => a[0] - b[0]);
  let most = 0;
  for (let i = 0; i < byStart.length; i++) {
    const endMs = byStart[i][0] + lengthMs;
    let inside = 0;
    for (let j = i; j < byStart.length && byStart[j][0] <= endMs; j++) if (byStart[j][1] <= endMs) inside++;
    most = Math.max(most, inside);
  }
  return most;
}

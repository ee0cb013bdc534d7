/** Median of some numbers. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** Prints one row, `median [min-max]` of ratios and medians of absolute figures; returns the median ratio. */
export function formatRatios(name, ratios, absolute) {
  const middle = median(ratios);
  const figures = Object.entries(absolute).map(([key, values]) => `${key} ${median(values).toFixed(2)}`);
  const range = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`;
  console.log(`  ${name.padEnd(28)} ${middle.toFixed(2)} [${range}]  (${figures.join(', ')})`);
  return middle;
}

/** Rows under a head, as Markdown: the first column to the left, all others to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((word, i) => Math.max(word.length, 3, ...rows.map((row) => (row[i] ?? '').length)));
  const padded = (cell: string, i: number): string =>
    i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0);
  const line = (cells: readonly string[]): string => `| ${cells.map(padded).join(' | ')} |`;
  const rule = widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

export const count = (value: number): string => Math.round(value).toLocaleString('en-US');

/** Three digits. */
export const short = (value: number): string =>
  value === 0 ? '0' : value >= 100 ? count(value) : String(Number(value.toPrecision(3)));

export const percent = (part: number): string => `${Number((part * 100).toPrecision(3))} %`;

export const ms = (value: number): string => `${short(value)} ms`;

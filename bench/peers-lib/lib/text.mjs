/** A number in three digits, large ones with k and M. */
export function short(number) {
  if (!Number.isFinite(number)) return '-';
  if (number >= 999_500) return `${plain(number / 1e6)}M`;
  if (number >= 9_995) return `${plain(number / 1000)}k`;
  return plain(number);
}

function plain(number) {
  if (Math.abs(number) >= 99.95) return String(Math.round(number));
  const digits = Math.abs(number) >= 9.995 ? 1 : 2;
  return String(Number(number.toFixed(digits)));
}

/** `median (min-max)`. */
export const range = ({ median, min, max }, unit = '') =>
  `${short(median)}${unit} (${short(min)}${min === max ? '' : `-${short(max)}`})`;

/** A table in Markdown; columns of numbers stand to the right. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [
    line(head),
    line(head.map((_, i) => (rows.every((row) => /^[-\d]|^$/.test(row[i])) ? '---:' : '---'))),
    ...rows.map(line),
  ].join('\n');
}

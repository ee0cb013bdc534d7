const WIDTH = 760;
const LABEL = 250;
const VALUE = 110;
const ROW = 24;
const TOP = 62;
const COLOURS = { comporta: '#2563eb', peer: '#a3a9b5', reference: '#5b6472' };

const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

/** A bar chart as a page of SVG: rows in the order given, the longest bar is the greatest value. */
export function barChart({ title, unit, rows }) {
  const most = Math.max(...rows.map(({ value }) => value));
  const width = (value) => (most > 0 ? Math.max(1, ((WIDTH - LABEL - VALUE) * value) / most) : 1);
  const height = TOP + rows.length * ROW + 14;
  const bars = rows.map(({ label, value, text, by }, i) => {
    const y = TOP + i * ROW;
    const end = LABEL + width(value);
    const weight = by === 'comporta' ? ' font-weight="600"' : '';
    return [
      `<text x="${LABEL - 8}" y="${y + 13}" text-anchor="end"${weight}>${escaped(label)}</text>`,
      `<rect x="${LABEL}" y="${y}" width="${width(value).toFixed(1)}" height="17" rx="2" fill="${COLOURS[by]}"/>`,
      `<text x="${(end + 6).toFixed(1)}" y="${y + 13}"${weight}>${escaped(text)}</text>`,
    ].join('\n');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" ` +
      `role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="12" fill="#1f2937">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="12" y="24" font-size="15" font-weight="600">${escaped(title)}</text>`,
    `<text x="12" y="44" fill="#5b6472">${escaped(unit)}</text>`,
    ...bars,
    '</svg>\n',
  ].join('\n');
}

import type { Entry } from './registry.js';

/** The answer to a scrape. */
export interface MetricsText {
  readonly type: string;
  readonly body: string;
}

const PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8';
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** OpenMetrics for who asks for it, else the text that every scraper reads. */
export function metricsText(entries: Iterable<Entry>, accept: string | undefined): MetricsText {
  const isOpen = accept?.includes('application/openmetrics-text') === true;
  const lines: string[] = [];
  for (const entry of entries) writeEntry(lines, entry, isOpen);
  if (isOpen) lines.push('# EOF');
  return { type: isOpen ? OPEN_METRICS : PROMETHEUS, body: `${lines.join('\n')}\n` };
}

function writeEntry(lines: string[], { name, unit, help, family }: Entry, isOpen: boolean): void {
  const shown = family.kind === 'counter' && !isOpen ? `${name}_total` : name;
  lines.push(`# HELP ${shown} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}`, `# TYPE ${shown} ${family.kind}`);
  if (isOpen && unit !== undefined) lines.push(`# UNIT ${name} ${unit}`);
  for (const { suffix, labels, value } of family.samples()) {
    lines.push(`${name}${suffix}${labels === '' ? '' : `{${labels}}`} ${numberText(value)}`);
  }
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

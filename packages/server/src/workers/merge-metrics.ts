import type { Sample } from '../metrics/families.js';
import type { Kind } from '../metrics/names.js';
import type { Entry } from '../metrics/registry.js';

/** A metric as it stood at one moment; travels between processes. */
export interface FamilySnapshot extends Omit<Entry, 'family'> {
  readonly kind: Kind;
  readonly samples: readonly Sample[];
}

/** Gauges of which the highest says more than the sum; all others are added up. */
const HIGHEST: ReadonlySet<string> = new Set([
  'comporta_breaker_state',
  'comporta_fallback_active',
  'comporta_lease_bound',
  'comporta_reload_failing',
  'process_uptime_seconds',
  'nodejs_eventloop_delay_seconds',
  'comporta_build_info',
]);

export function snapshotOf(entries: Iterable<Entry>): readonly FamilySnapshot[] {
  return [...entries].map(({ family, ...entry }) => ({ ...entry, kind: family.kind, samples: [...family.samples()] }));
}

/** What the text is made from. */
export function entriesOf(families: readonly FamilySnapshot[]): readonly Entry[] {
  return families.map(({ kind, samples, ...entry }) => ({ ...entry, family: { kind, samples: () => samples } }));
}

/** What stays of a process that has ended: a count never goes back. */
export function countsOf(families: readonly FamilySnapshot[]): readonly FamilySnapshot[] {
  return families.filter(({ kind }) => kind !== 'gauge');
}

/** The metrics of several processes as those of one. */
export function mergeMetrics(parts: readonly (readonly FamilySnapshot[])[]): readonly FamilySnapshot[] {
  const [only, second] = parts;
  if (only !== undefined && second === undefined) return only;
  const byName = new Map<string, FamilySnapshot[]>();
  for (const family of parts.flat()) byName.set(family.name, [...(byName.get(family.name) ?? []), family]);
  return [...byName.values()].map(mergeFamily);
}

function mergeFamily(families: readonly FamilySnapshot[]): FamilySnapshot {
  const [first] = families as readonly [FamilySnapshot];
  const isHighest = HIGHEST.has(first.name);
  const samples = new Map<string, Sample>();
  for (const sample of families.flatMap((family) => family.samples)) {
    const key = `${sample.suffix}{${sample.labels}`;
    const known = samples.get(key);
    const value = isHighest ? Math.max(known?.value ?? sample.value, sample.value) : (known?.value ?? 0) + sample.value;
    samples.set(key, { ...sample, value });
  }
  return { ...first, samples: [...samples.values()] };
}

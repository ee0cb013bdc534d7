import { clientNameOf } from '../identity/client-name.js';
import { GLOBAL, type Key, subjectOfValue } from '../identity/subject.js';

/** As `Gate.subjectOf`, for a key. */
export function subjectOfParts(
  key: Key<never>,
  values: readonly string[],
  ipv6Prefix: number | undefined,
): string | undefined {
  if (typeof key === 'function') return values.length === 1 ? subjectOfValue(key, values[0]) : undefined;
  const sources = [key].flat();
  if (sources.length === 1 && sources[0] === GLOBAL) return values.length === 0 ? GLOBAL : undefined;
  const named: string[] = [];
  for (const [i, value] of values.entries()) {
    const name = sources[i] === 'ip' ? clientNameOf(value, ipv6Prefix) : value;
    if (name === undefined) return undefined;
    named.push(name);
  }
  return subjectOfValue(sources, named);
}

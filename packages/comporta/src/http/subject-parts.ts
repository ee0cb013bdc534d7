import { parseNode } from '../identity/ip.js';
import { formatClient } from '../identity/ip-text.js';
import { type Key, subjectOfValue } from '../identity/subject.js';

/** As `Gate.subjectOf`, for a key. */
export function subjectOfParts(key: Key<never>, values: readonly string[], ipv6Prefix: number): string | undefined {
  if (typeof key === 'function') return values.length === 1 ? subjectOfValue(key, values[0]) : undefined;
  const sources = [key].flat();
  if (sources.length === 1 && sources[0] === 'global') return values.length === 0 ? 'global' : undefined;
  const named: string[] = [];
  for (const [i, value] of values.entries()) {
    const name = sources[i] === 'ip' ? clientName(value, ipv6Prefix) : value;
    if (name === undefined) return undefined;
    named.push(name);
  }
  return subjectOfValue(sources, named);
}

function clientName(address: string, ipv6Prefix: number): string | undefined {
  const bytes = parseNode(address);
  return bytes === undefined ? undefined : formatClient(bytes, ipv6Prefix);
}

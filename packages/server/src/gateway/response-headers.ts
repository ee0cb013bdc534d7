import type { IncomingHttpHeaders } from 'node:http';
import { applyFields, type Field } from 'comporta/http';
import { namedIn } from './request-headers.js';

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** The upstream's headers and our rate-limit fields, as the flat list that `writeHead` takes. */
export function clientHeaders(upstream: IncomingHttpHeaders, ours: readonly Field[], isCrossOrigin: boolean): string[] {
  const named = namedIn(upstream.connection);
  const list: string[] = [];
  let theirs: Map<string, string> | undefined;
  for (const name in upstream) {
    const value = upstream[name];
    if (value === undefined || HOP_BY_HOP.has(name) || named?.has(name) === true) continue;
    if (ours.length > 0 && isLimitField(name)) {
      theirs ??= new Map();
      theirs.set(name, String(value));
    } else if (typeof value === 'string') {
      list.push(name, value);
    } else {
      for (const one of value) list.push(name, one);
    }
  }
  appendOurs(list, theirs === undefined ? ours : merged(theirs, ours), isCrossOrigin);
  return list;
}

/** Our fields, and for callers of other origins the permission to read them. */
export function appendOurs(list: string[], ours: readonly Field[], isCrossOrigin: boolean): void {
  for (const [name, value] of ours) list.push(name, value);
  if (isCrossOrigin && ours.length > 0) list.push('access-control-expose-headers', exposed(ours));
}

function isLimitField(name: string): boolean {
  return name.startsWith('ratelimit') || name.startsWith('x-ratelimit-');
}

/** The upstream limits too: what it says and what we say, as the library's adapters join them. */
function merged(theirs: Map<string, string>, ours: readonly Field[]): readonly Field[] {
  applyFields(
    { allowed: true, headers: ours },
    { get: (name) => theirs.get(name), set: (name, value) => void theirs.set(name, value) },
  );
  return [...theirs];
}

let lastNames = '';
let lastExposed = '';

function exposed(fields: readonly Field[]): string {
  const names = fields.map(([name]) => name).join(', ');
  if (names !== lastNames) {
    lastNames = names;
    lastExposed = names.includes('retry-after') ? names : `${names}, retry-after`;
  }
  return lastExposed;
}

import { pathReadings, pathSegments, resolvedSegments } from 'comporta/http';

/** A path in which nothing needs to be made alike: the usual case. */
const PLAIN = /^(?:\/[a-z0-9_~!$&'()*+,=:@-][a-z0-9._~!$&'()*+,=:@-]*)+$/;

/**
 * Paths that servers resolve in different ways, and that clients with good intent resolve before they
 * send them: dot segments in any spelling, also beside `;`, backslashes and control characters.
 */
const UNCLEAR = /\\|%[01][0-9a-f]|%7f|(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:[/;]|%2f|%5c|%3b|$)/i;

/** True for a target that the gateway does not forward: nobody can tell which path its upstream would serve. */
export function isUnclear(url: string): boolean {
  const end = url.indexOf('?');
  return UNCLEAR.test(end < 0 ? url : url.slice(0, end));
}

/**
 * A request's path as policies see it, so that no spelling takes another route than the rule it is
 * counted under. Empty for `/`.
 */
export function normalizePath(url: string): string {
  const end = url.search(/[?#]/);
  const path = end < 0 ? url : url.slice(0, end);
  return PLAIN.test(path) ? path : joined(pathSegments(url));
}

/** Every path that some upstream may read in a target; `undefined` when that cannot be worked out. */
export function pathsOf(url: string): readonly string[] | undefined {
  const end = url.search(/[?#]/);
  const path = end < 0 ? url : url.slice(0, end);
  if (PLAIN.test(path)) return [path];
  const { normal, others } = pathReadings(url);
  return others === 'any' ? undefined : [normal, ...others].map(joined);
}

/** The same path with its letters' case kept and encoded anew: what to forward of an odd spelling. */
export function resolvePath(url: string, skippedSegments: number): string {
  const segments = resolvedSegments(url).slice(skippedSegments);
  return `/${segments.map(encodeURIComponent).join('/')}`;
}

function joined(segments: readonly string[]): string {
  return segments.map((segment) => `/${segment.replaceAll('/', '%2f')}`).join('');
}

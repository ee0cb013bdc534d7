import { pathSegments, resolvedSegments } from 'comporta/http';

/** A path in which nothing needs to be made alike: the usual case. */
const PLAIN = /^(?:\/[a-z0-9_~!$&'()*+,=:@-][a-z0-9._~!$&'()*+,=:@-]*)+$/;

/**
 * A request's path as policies see it, so that no spelling takes another route than the rule it is
 * counted under. Empty for `/`.
 */
export function normalizePath(url: string): string {
  const end = url.search(/[?#]/);
  const path = end < 0 ? url : url.slice(0, end);
  if (PLAIN.test(path)) return path;
  return pathSegments(url)
    .map((segment) => `/${segment.replaceAll('/', '%2f')}`)
    .join('');
}

/** The same path with its letters' case kept and encoded anew: what to forward of an odd spelling. */
export function resolvePath(url: string, skippedSegments: number): string {
  const segments = resolvedSegments(url).slice(skippedSegments);
  return `/${segments.map(encodeURIComponent).join('/')}`;
}

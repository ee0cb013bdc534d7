import { decodePercent } from '../identity/percent.js';

/** A path in which nothing needs to be made alike: the usual case, recognised without any copy. */
const PLAIN = /^(?:\/[a-z0-9_~!$&'()*+,=:@-][a-z0-9._~!$&'()*+,=:@-]*)+$/;

/**
 * Segments of a request's path as most routers see it: no empty or dot segments, no trailing slash, no
 * matrix parameters (`;v=1`), percent-encoding undone, in lower case. Spellings of one path are equal.
 */
export function pathSegments(url: string): readonly string[] {
  const path = pathOf(url);
  if (PLAIN.test(path)) return path.slice(1).split('/');
  return resolvedSegments(url).map((segment) => segment.toLowerCase());
}

/** As {@link pathSegments}, with the letters' case as it was sent: what to forward of an odd spelling. */
export function resolvedSegments(url: string): readonly string[] {
  const segments: string[] = [];
  for (const written of pathOf(url).split('/')) {
    const segment = normalSegment(written);
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return segments;
}

/** Without query and fragment, and without the origin that a request line may carry (`GET http://host/path`). */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  const path = end < 0 ? url : url.slice(0, end);
  if (path.startsWith('/')) return path;
  const authority = path.indexOf('://');
  if (authority < 0) return path;
  const start = path.indexOf('/', authority + 3);
  return start < 0 ? '/' : path.slice(start);
}

/** A slash that was written `%2F` stays inside its segment. */
function normalSegment(written: string): string {
  const semicolon = written.indexOf(';');
  const text = semicolon < 0 ? written : written.slice(0, semicolon);
  return decodePercent(text);
}

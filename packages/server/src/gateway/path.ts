/** A path in which nothing needs to be made alike: the usual case. */
const PLAIN = /^(?:\/[a-z0-9_~!$&'()*+,=:@-][a-z0-9._~!$&'()*+,=:@-]*)+$/;

/**
 * A request's path as policies see it, so that no spelling takes another route than the rule it is
 * counted under: dot segments resolved, slashes merged, matrix parameters dropped, percent-encoding
 * undone (but `%2F` stays inside its segment), lower case. Empty for `/`.
 */
export function normalizePath(url: string): string {
  const path = pathOf(url);
  if (PLAIN.test(path)) return path;
  return segmentsOf(path)
    .map((segment) => `/${segment.toLowerCase().replaceAll('/', '%2f')}`)
    .join('');
}

/** The same path with its letters' case kept and encoded anew: what to forward of an odd spelling. */
export function resolvePath(url: string, skippedSegments: number): string {
  const segments = segmentsOf(pathOf(url)).slice(skippedSegments);
  return `/${segments.map(encodeURIComponent).join('/')}`;
}

function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end < 0 ? url : url.slice(0, end);
}

function segmentsOf(path: string): readonly string[] {
  const segments: string[] = [];
  for (const written of path.split('/')) {
    const segment = decode(written.split(';', 1)[0] ?? '');
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return segments;
}

function decode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

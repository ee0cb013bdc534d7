import { decodePercent } from '../identity/percent.js';
import { pathOf, pathSegments } from './path.js';

type Segments = readonly string[];

/** One path as the routers behind the limiter may read it. */
export interface PathReadings {
  /** As {@link pathSegments}: what names a subject, and what nearly every request has alone. */
  readonly normal: Segments;
  /** What else some router makes of it; `any` when it is too tangled to be worked out. */
  readonly others: readonly Segments[] | 'any';
  /** It has empty segments, dot segments or backslashes, which clients with good intent do not send. */
  readonly isCrooked: boolean;
}

/** What routers read differently: `//`, dot segments, backslashes, matrix parameters, encoded separators. */
const ODD = /\/[/.]|[\\;%]/;
const CROOKED = /\/\/|\\|(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:[/;\\]|%2f|%5c|$)/i;
/** An absolute target whose authority nobody reads in two ways. */
const CLEAR_ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/\\@?#;%]+(?:[/?#]|$)/i;

/** Paths of more parts are not worked out: nobody sends them but to keep the limiter busy. */
const PARTS_MAX = 128;

const NONE: readonly Segments[] = [];

/** Every way in which some router may read a request's path. */
export function pathReadings(url: string): PathReadings {
  const normal = pathSegments(url);
  const path = pathOf(url);
  const isClear = url.charCodeAt(0) === 47 || CLEAR_ORIGIN.test(url);
  if (isClear && !ODD.test(path) && !url.includes('#')) return { normal, others: NONE, isCrooked: false };
  const isCrooked = !isClear || CROOKED.test(path);
  const parts = url.match(/[/\\;#]|%2f|%5c/gi)?.length ?? 0;
  return { normal, others: parts > PARTS_MAX ? 'any' : otherReadings(url, path), isCrooked };
}

function otherReadings(url: string, path: string): readonly Segments[] {
  const texts = new Set([path, beforeQuery(url), ...withoutOrigin(url), ...asUrl(url)]);
  widen(texts, (text) => text.replace(/%2f/gi, '/').replace(/%5c/gi, '\\'));
  widen(texts, (text) => text.replaceAll('\\', '/'));
  widen(texts, (text) => text.replace(/;.*$/s, ''));
  widen(texts, (text) => text.replace(/;[^/]*/g, ''));
  return [...texts].flatMap(formsOf);
}

/** Adds to each text what a router makes of it that takes one more character for special. */
function widen(texts: Set<string>, change: (text: string) => string): void {
  for (const text of [...texts]) texts.add(change(text));
}

function beforeQuery(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

/** `//host/path` and `scheme:/path`, for routers that take the start of a target for an origin. */
function withoutOrigin(url: string): readonly string[] {
  const path = beforeQuery(url).replace(/^[a-z][a-z0-9+.-]*:/i, '');
  return [path, path.replace(/^[/\\]{2}[^/\\]*/, '')];
}

/** As the URL standard reads it, whichever scheme the server takes for its own. */
function asUrl(url: string): readonly string[] {
  return ['http://h', 'https://h'].flatMap((base) => (URL.canParse(url, base) ? [new URL(url, base).pathname] : []));
}

/** The segments of a text with dot segments as they are or resolved, empty segments kept or merged. */
function formsOf(text: string): readonly Segments[] {
  const written = text.split('/');
  if (written[0] === '') written.shift();
  if (written.at(-1) === '') written.pop();
  const decoded = written.map((segment) => decodePercent(segment).toLowerCase());
  const merged = decoded.filter(isFilled);
  const raw = merged.length === decoded.length ? [decoded] : [decoded, merged];
  if (!decoded.some(isDots)) return raw;
  const literal = resolve(written.filter(isFilled)).map((segment) => decodePercent(segment).toLowerCase());
  const kept = resolve(decoded);
  return [...raw, kept, kept.filter(isFilled), resolve(merged), literal];
}

function resolve(segments: Segments): string[] {
  const resolved: string[] = [];
  for (const segment of segments) {
    if (segment === '..') resolved.pop();
    else if (segment !== '.') resolved.push(segment);
  }
  return resolved;
}

function isFilled(segment: string): boolean {
  return segment !== '';
}

function isDots(segment: string): boolean {
  return segment === '.' || segment === '..';
}

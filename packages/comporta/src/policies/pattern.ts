import { show } from '../core/errors.js';
import type { Params } from '../identity/sources.js';
import { pathSegments } from './path.js';
import type { PathReadings } from './readings.js';
import { refusal } from './refusal.js';

/** A path pattern, split: a segment is a literal text or the name of a parameter. */
export interface PathPattern {
  readonly segments: readonly { readonly literal: string | undefined; readonly param: string }[];
  /** The pattern ends in `/*`: anything may follow, also nothing. */
  readonly rest: boolean;
  readonly hasParams: boolean;
  /** The pattern as route templates are compared with it. */
  readonly text: string;
}

const NO_PARAMS: Params = new Map();

/** Reads `/api/*` or `/users/:id`; throws `ERR_POLICY` for what matches nothing or means something else elsewhere. */
export function parsePattern(text: unknown, field: string): PathPattern {
  if (typeof text !== 'string' || !text.startsWith('/'))
    throw refusal(field, `expected a path that starts with /, got ${show(text)}`);
  const written = text.split('/').slice(1);
  const rest = written.at(-1) === '*';
  if (rest || written.at(-1) === '') written.pop();
  const segments = written.map((segment) => parseSegment(segment, text, field));
  const params = segments.filter(({ literal }) => literal === undefined).map(({ param }) => param);
  if (new Set(params).size < params.length) throw refusal(field, `a parameter occurs twice in ${show(text)}`);
  return { segments, rest, hasParams: params.length > 0, text: normalTemplate(text) };
}

function parseSegment(segment: string, text: string, field: string): PathPattern['segments'][number] {
  if (segment.startsWith(':')) {
    if (/^:[A-Za-z_]\w*$/.test(segment)) return { literal: undefined, param: segment.slice(1) };
    throw refusal(field, `${show(segment)} is no parameter; write :name as a whole segment`);
  }
  if (/[*?#;]/.test(segment))
    throw refusal(field, `${show(text)}: * stands only at the end, as /*; use :name for one segment`);
  const [literal, ...more] = pathSegments(`/${segment}`);
  if (literal === undefined || more.length > 0) throw refusal(field, `${show(text)} has an empty or dot segment`);
  return { literal, param: '' };
}

/**
 * The parameters' values when the pattern matches any reading of a path. They are those of the normal
 * form; where other readings of a crooked path see other values, nobody's, so that none is made up.
 */
export function matchReadings(pattern: PathPattern, path: PathReadings): Params | undefined {
  const { normal, others, isCrooked } = path;
  const usual = matchPattern(pattern, normal);
  if (others.length === 0 || (usual !== undefined && !(pattern.hasParams && isCrooked))) return usual;
  if (others === 'any') return NO_PARAMS;
  let found = usual;
  for (const reading of others) {
    const params = matchPattern(pattern, reading);
    if (params === undefined) continue;
    if (found !== undefined && !isSame(found, params)) return NO_PARAMS;
    found ??= params;
  }
  return found;
}

/** Empty and dot segments are no values that anybody is counted by. */
function isSame(some: Params, other: Params): boolean {
  for (const [name, value] of other) if (!/^\.{0,2}$/.test(value) && value !== some.get(name)) return false;
  return true;
}

/** The parameters' values when the pattern matches. */
function matchPattern(pattern: PathPattern, path: readonly string[]): Params | undefined {
  const { segments, rest, hasParams } = pattern;
  if (rest ? path.length < segments.length : path.length !== segments.length) return undefined;
  for (let i = 0; i < segments.length; i++) {
    const literal = segments[i]?.literal;
    if (literal !== undefined && literal !== path[i]) return undefined;
  }
  return hasParams ? new Map(segments.map(({ param }, i) => [param, path[i] as string])) : NO_PARAMS;
}

/** Route templates differ from patterns in case and a trailing slash only. */
export function normalTemplate(route: string): string {
  const lower = route.toLowerCase();
  return lower.length > 1 && lower.endsWith('/') ? lower.slice(0, -1) : lower;
}

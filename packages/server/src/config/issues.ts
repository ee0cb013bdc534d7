import type { z } from 'zod';
import { describeField, knownFields } from './known-fields.js';
import { NO_KIND } from './limits.js';
import { nearest } from './nearest.js';
import { formatPath, type Path, type Problem } from './problem.js';
import { isSecret, shown, withoutValue } from './shown.js';
import type { Source } from './source.js';

type Issue = z.core.$ZodIssue;

/** More are not looked at: the first ones are to be mended first, and a running server has work to do. */
const LOOKED_AT_MAX = 1000;

/** What the schema found, as problems with a place in the file. */
export function toProblems(issues: readonly Issue[], source: Source): Problem[] {
  const flat = issues.slice(0, LOOKED_AT_MAX).flatMap((issue) => flatten(issue, source.value));
  const mistyped = new Set(flat.filter(({ code }) => code === 'unrecognized_keys').map(({ path }) => path.join()));
  return flat
    .filter(
      ({ code, path, message }) => !(code === 'custom' && message.startsWith(NO_KIND) && mistyped.has(path.join())),
    )
    .flatMap((issue) => toProblem(issue, source))
    .slice(0, LOOKED_AT_MAX);
}

function toProblem(issue: Issue, source: Source): Problem[] {
  const path = issue.path as Path;
  if (issue.code === 'unrecognized_keys')
    return issue.keys.slice(0, LOOKED_AT_MAX).map((key) => unknownField([...path, key], source));
  const value = valueAt(source.value, path);
  const isMissing = value === undefined || value === null;
  const words = isMissing && path.length > 0 ? 'missing' : describeIssue(issue, value);
  // Of lists and fields only that is told.
  const message = typeof value !== 'object' && !isMissing && isSecret(path) ? withoutValue(words) : words;
  const hint = isMissing ? describeField(path) : hintFor(issue, value);
  return [{ ...source.locate(path, 'value'), path: formatPath(path), message, hint }];
}

const WHOLE_FILE = 'is this the right file? a configuration is made of fields such as "store: memory"';

export const UNKNOWN_FIELD = 'unknown field';

function unknownField(path: Path, source: Source): Problem {
  const fields = knownFields(path.slice(0, -1));
  const guess = nearest(String(path.at(-1)), fields);
  const hint = guess === undefined ? `known here: ${fields.join(', ')}` : `did you mean "${guess}"?`;
  // A name that is like no other may be a value in the wrong place.
  const isHidden = guess === undefined && isSecret(path.slice(0, -1)) && path.length > 1;
  const told = isHidden ? [...path.slice(0, -1), '...'] : path;
  return { ...source.locate(path, 'key'), path: formatPath(told), message: UNKNOWN_FIELD, hint };
}

/** A union's own message says nothing: keep what the branch of the value's form found. */
function flatten(issue: Issue, root: unknown): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const value = valueAt(root, issue.path as Path);
  const fits = (branch: readonly Issue[]) =>
    !branch.some(({ code, path }) => (code === 'invalid_type' || code === 'invalid_value') && path.length === 0);
  const isFields = typeof value === 'object' && value !== null && !Array.isArray(value);
  const ofFields = isFields ? issue.errors.find(fits) : undefined;
  const branch = ofFields ?? issue.errors[Array.isArray(value) ? issue.errors.length - 1 : 0] ?? [];
  return branch.flatMap((inner) => flatten({ ...inner, path: [...issue.path, ...inner.path] } as Issue, root));
}

/** What is wrong with a value, in words. */
export function describeIssue(issue: Issue, value: unknown): string {
  if (issue.code === 'custom' || issue.code === 'invalid_format') return issue.message;
  const expected = expectation(issue);
  if (expected === undefined) return issue.message;
  return value === undefined || value === null
    ? `missing: expected ${expected}`
    : `expected ${expected}, got ${shown(value)}`;
}

function expectation(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return TYPE_NAMES[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return issue.values.map(String).join(' or ');
    case 'too_small':
      if (issue.origin === 'string') return `text of at least ${plural(issue.minimum, 'character', 'characters')}`;
      return issue.origin === 'array'
        ? `at least ${plural(issue.minimum, 'entry', 'entries')}`
        : `a number from ${issue.minimum}`;
    case 'too_big':
      if (issue.origin === 'string') return `text of at most ${plural(issue.maximum, 'character', 'characters')}`;
      return issue.origin === 'array'
        ? `at most ${plural(issue.maximum, 'entry', 'entries')}`
        : `a number up to ${issue.maximum}`;
    default:
      return undefined;
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'fields',
  array: 'a list',
};

function hintFor(issue: Issue, value: unknown): string | undefined {
  if (issue.path.length === 0 && typeof value !== 'object') return WHOLE_FILE;
  if (issue.code !== 'invalid_value' || typeof value !== 'string') return undefined;
  const guess = nearest(value, issue.values.map(String));
  return guess === undefined ? undefined : `did you mean "${guess}"?`;
}

function plural(count: number | bigint, one: string, many: string): string {
  return `${count} ${Number(count) === 1 ? one : many}`;
}

export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, part) => (value as Record<string | number, unknown> | null | undefined)?.[part],
    root,
  );
}

import type { Field } from './headers.js';

/** A response that fields can be read from and set on; names are lower case. */
export interface FieldTarget {
  get(name: string): unknown;
  set(name: string, value: string): void;
}

/** What {@link applyFields} needs of a verdict. */
interface Fields {
  readonly allowed: boolean;
  readonly headers: readonly Field[];
}

/**
 * Sets a verdict's fields on a response that another limiter may have written to already. Lists by
 * policy name are joined, ours in place of an older item of the same name. Forms with room for one
 * limit keep the stricter one: of two that allowed the request, the one with less left.
 */
export function applyFields(verdict: Fields, response: FieldTarget): void {
  const { allowed, headers } = verdict;
  const keepSingle = allowed && headers.some((field) => hasLessLeft(field, response));
  for (const field of headers) {
    const name = field[0];
    const value = field[1];
    if (isItem(value)) response.set(name, LISTS.has(name) ? mergeList(textOf(response.get(name)), value) : value);
    else if (!keepSingle || !isSingle(name)) response.set(name, value);
  }
}

const LISTS: ReadonlySet<string> = new Set(['ratelimit', 'ratelimit-policy']);

/** A list of named items, as the later drafts write it. */
const isItem = (value: string): boolean => value.charCodeAt(0) === 0x22;

const isSingle = (name: string): boolean => name.includes('ratelimit');

/** True when the response says already that less is left than this field does. */
function hasLessLeft(field: Field, response: FieldTarget): boolean {
  const name = field[0];
  const value = field[1];
  if (isItem(value) || !isSingle(name)) return false;
  const existing = textOf(response.get(name));
  if (existing === '') return false;
  const [theirs, ours] = [remainingIn(name, existing), remainingIn(name, value)];
  return theirs !== undefined && ours !== undefined && theirs < ours;
}

function remainingIn(name: string, value: string): number | undefined {
  const digits = name.endsWith('-remaining')
    ? value
    : name === 'ratelimit'
      ? /\bremaining=(\d+)/.exec(value)?.[1]
      : undefined;
  return digits !== undefined && /^\d+$/.test(digits) ? Number(digits) : undefined;
}

/** Joins two lists of named items; what is no such item is left out, since it would void the whole field. */
export function mergeList(existing: string, ours: string): string {
  if (existing === '') return ours;
  const names = new Set(membersOf(ours).map(nameOf));
  const others = membersOf(existing).filter((member) => ITEM.test(member) && !names.has(nameOf(member)));
  return [...others, ours].join(', ');
}

/** A String or Token with parameters (RFC 9651), as far as it takes to not break the list. */
const ITEM = /^(?:"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"|[A-Za-z*][\w!#$%&'*+.^`|~:/-]*)(?:;.+)?$/;

/** Members of a list; commas inside quotes do not separate. */
function membersOf(list: string): readonly string[] {
  const members = list.match(/(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g) ?? [];
  return members.map((member) => member.trim());
}

function nameOf(member: string): string {
  const [name = ''] = /^(?:"(?:[^"\\]|\\.)*"|[^;]*)/.exec(member) ?? [];
  return name.startsWith('"') ? name : `"${name.trim()}"`;
}

function textOf(existing: unknown): string {
  if (existing === undefined || existing === null) return '';
  return Array.isArray(existing) ? existing.join(', ') : String(existing);
}

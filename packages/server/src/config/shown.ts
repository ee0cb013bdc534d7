import type { Path } from './problem.js';

/** Values and texts as messages may repeat them: no secret, one line, not at length. */

const SHOWN_MAX = 100;

const cut = (text: string, max: number = SHOWN_MAX): string => (text.length <= max ? text : `${text.slice(0, max)}...`);

/** Control and format characters as `\uXXXX`: they steer terminals, and hide what stands beside them. */
export const escapeUnprintable = (text: string): string =>
  text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) =>
    Array.from(char, (point) =>
      [...Array(point.length).keys()].map((i) => `\\u${point.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
    ).join(''),
  );

/** Addresses without the login that they may hold. */
const withoutLogins = (text: string): string => text.replace(/(:\/\/)[^\s/"'@]*@/g, '$1...@');

/** A text of a message, whatever went into it. */
export const shownText = (text: string, max: number): string => escapeUnprintable(cut(withoutLogins(text), max));

/** A value in a message. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'fields';
  const text = JSON.stringify(typeof value === 'string' ? cut(withoutLogins(value)) : value);
  return escapeUnprintable(text);
}

const SECRET = /tokens?$|secret|passw|credential|login|apikey|routingkey|private|^auth|^urls?$|^sinks$/i;

/** Whether what stands at a place, or below it, may be a secret. A file that is one text may be a file of secrets. */
export function isSecret(path: Path): boolean {
  const [first, ...rest] = path;
  if (first === undefined || (first === 'store' && rest.length === 0)) return true;
  return path.some((part, i) => SECRET.test(String(part)) || (part === 'key' && path[i - 1] === 'tls'));
}

/** A message without the value in it. */
export const withoutValue = (message: string): string =>
  message.includes('not shown') ? message : `${message.replace(/, got [\s\S]*$/, '')} (the value is not shown)`;

/** The name of a file, unless it is a file's content by mistake. */
export const shownName = (name: string): string =>
  /-----BEGIN|\n/.test(name) ? '(a text that is no name and is not shown)' : shownText(name, 300);

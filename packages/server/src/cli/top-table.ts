import { printable } from './printable.js';

/** What the admin API tells of subjects and of the store. */
export interface Seen {
  readonly by: string;
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly total: number;
  readonly subjects: readonly {
    readonly policy: string;
    readonly subject: string;
    readonly count: number;
    readonly error: number;
    readonly advice?: string;
  }[];
  readonly store: { readonly address: string; readonly status: string; readonly reason?: string };
  readonly breakers: readonly { readonly node: string; readonly timeoutMs: number; readonly state: string }[];
}

const WIDTH = 100;
const ADVICE_MAX = 3;

/** A table as lines, none wider than the terminal. */
export function topLines(seen: Seen, width: number = WIDTH): readonly string[] {
  const { by, sinceMs, nowMs, total, subjects, store, breakers } = seen;
  const seconds = Math.max(1, (nowMs - sinceMs) / 1000);
  const open = breakers
    .filter(({ state }) => state !== 'closed')
    .map(
      // A node has one for each time limit that policies have.
      ({ node, timeoutMs, state }) => `${node} ${state} at a time limit of ${timeoutMs} ms`,
    );
  const policyWidth = policyWidthOf(subjects, width);
  const row = (cells: readonly string[]): string => {
    const [count = '', rate = '', share = '', error = '', policy = '', subject = ''] = cells;
    const numbers = `${count.padStart(10)} ${rate.padStart(9)} ${share.padStart(6)} ${error.padStart(8)}`;
    return `${numbers}  ${shortened(policy, policyWidth).padEnd(policyWidth)}  ${subject}`;
  };
  return [
    `store ${store.address}: ${store.status}${store.reason === undefined ? '' : ` (${store.reason})`}`,
    open.length === 0 ? 'no breaker is open' : `breakers: ${open.join(', ')}`,
    `${total} ${by} in ${Math.round(seconds)} s, ${(total / seconds).toFixed(1)} a second`,
    ...subjects
      .flatMap(({ advice, subject }) =>
        advice === undefined ? [] : [`${shortened(subject, Math.floor(width / 3))}: ${advice}`],
      )
      .slice(0, ADVICE_MAX),
    row(['COUNT', 'A SECOND', 'SHARE', 'ERROR', 'POLICY', 'SUBJECT']),
    ...subjects.map(({ policy, subject, count, error }) => {
      const share = `${Math.round((100 * count) / Math.max(1, total))} %`;
      return row([`${count}`, (count / seconds).toFixed(1), share, `${error}`, policy, subject]);
    }),
  ].map((line) => printable(line).slice(0, width));
}

/** Columns before the policy, and between it and the subject. */
const NUMBERS = 38;
const GAP = 2;

/** What the policies need, as far as two thirds of the rest are left to subjects that need them. */
function policyWidthOf(subjects: Seen['subjects'], width: number): number {
  const rest = Math.max(0, width - NUMBERS - GAP);
  const longest = (texts: readonly string[]): number => Math.max(0, ...texts.map(({ length }) => length));
  const left = rest - Math.min(longest(subjects.map(({ subject }) => subject)), Math.floor((2 * rest) / 3));
  return Math.max('POLICY'.length, Math.min(longest(subjects.map(({ policy }) => policy)), left));
}

const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, Math.max(0, most - 3))}...`;

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
  const policyWidth = Math.max(6, ...subjects.map(({ policy }) => policy.length));
  const row = (cells: readonly string[]): string => {
    const [count = '', rate = '', share = '', error = '', policy = '', subject = ''] = cells;
    const numbers = `${count.padStart(10)} ${rate.padStart(9)} ${share.padStart(6)} ${error.padStart(8)}`;
    return `${numbers}  ${policy.padEnd(policyWidth)}  ${subject}`;
  };
  return [
    `store ${store.address}: ${store.status}${store.reason === undefined ? '' : ` (${store.reason})`}`,
    open.length === 0 ? 'no breaker is open' : `breakers: ${open.join(', ')}`,
    `${total} ${by} in ${Math.round(seconds)} s, ${(total / seconds).toFixed(1)} a second`,
    ...subjects
      .flatMap(({ advice, subject }) => (advice === undefined ? [] : [`${advice} (${subject})`]))
      .slice(0, ADVICE_MAX),
    row(['COUNT', 'A SECOND', 'SHARE', 'ERROR', 'POLICY', 'SUBJECT']),
    ...subjects.map(({ policy, subject, count, error }) => {
      const share = `${Math.round((100 * count) / Math.max(1, total))} %`;
      return row([`${count}`, (count / seconds).toFixed(1), share, `${error}`, policy, subject]);
    }),
  ].map((line) => printable(line).slice(0, width));
}

import { type Alert, type Fact, keyOf } from './alert.js';

const DETAIL_MAX_CHARS = 500;
const TARGET_MAX_CHARS = 300;

/** One line: what is wrong, or that it is over. */
export function titleOf({ fact, status }: Alert): string {
  const target = targetOf(fact);
  const isOver = status === 'resolved';
  switch (fact.kind) {
    case 'store.unavailable':
      return `Store ${isOver ? 'available again' : 'unavailable'} for policy ${target}`;
    case 'store.misconfigured':
      return `Store ${isOver ? 'accepts calls again' : 'refuses calls'} of policy ${target}`;
    case 'breaker.open':
      return `Store node ${target} ${isOver ? 'answers again' : 'fails'}`;
  }
}

const MEANWHILE = {
  local: 'Meanwhile this process counts by itself.',
  open: 'Meanwhile every request is admitted.',
  closed: 'Meanwhile every request is refused.',
} as const;

/** What it means for requests, and what to do. */
export function summaryOf({ fact, status }: Alert): string {
  if (status === 'resolved') return 'The store answers again.';
  const { kind, mode } = fact;
  if (kind === 'breaker.open') return 'The node is not asked; policies follow their failure mode for its subjects.';
  const what =
    kind === 'store.misconfigured'
      ? 'The store answers with an error that only a person can mend: permissions, types or settings.'
      : 'The store does not answer in time.';
  return mode === undefined ? what : `${what} ${MEANWHILE[mode]}`;
}

export function targetOf({ target }: Fact): string {
  return clean(target, TARGET_MAX_CHARS);
}

/** As the alert's key, and no longer than the rest. */
export function keyText(fact: Fact): string {
  return keyOf(fact.kind, targetOf(fact));
}

/** The store's own words, bounded, in one line, and without the credentials of any address in them. */
export function detailOf({ detail }: Fact): string {
  return clean(detail.slice(0, 4 * DETAIL_MAX_CHARS).replace(/\/\/\S*@/g, '//***@'), DETAIL_MAX_CHARS);
}

function clean(text: string, charsMax: number): string {
  const line = text.slice(0, 4 * charsMax).replace(/\p{Cc}+/gu, ' ');
  const cut = line.length <= charsMax ? line : `${line.slice(0, charsMax - 1)}…`;
  return cut.replace(/\p{Surrogate}/gu, '\uFFFD');
}

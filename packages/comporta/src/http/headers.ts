import type { Decision, LimitState } from '../core/decision.js';
import { ComportaError, show } from '../core/errors.js';
import { integer, type LimitFields, type PolicyFields, seconds } from './fields.js';

/** Forms of the rate-limit fields; see `docs/headers.md`. */
export type HeaderForm = 'draft-11' | 'draft-7' | 'draft-6' | 'legacy' | 'none';

/** A field to set; names are lower case. */
export type Field = readonly [name: string, value: string];

/** One enforced policy's part in the answer to a request. */
export interface Answer {
  readonly fields: PolicyFields;
  readonly decision: Decision;
}

/** Writes the fields of all policies that a request met. */
export type HeaderWriter = (answers: readonly Answer[]) => readonly Field[];

type WrittenForm = Exclude<HeaderForm, 'none'>;

type StateWriter = (answers: readonly Answer[]) => readonly Field[];

const NO_FIELDS: readonly Field[] = [];

/** Makes the writer of one form or several; throws `ERR_OPTION` for forms that need the same field. */
export function createHeaderWriter(headers: unknown = 'draft-11'): HeaderWriter {
  const forms = formsOf(headers);
  const quota = forms.has('draft-11') ? 'named' : forms.has('draft-7') || forms.has('draft-6') ? 'unnamed' : undefined;
  const writers = (Object.keys(STATES) as WrittenForm[]).filter((form) => forms.has(form)).map((form) => STATES[form]);
  const [first] = writers;
  const states: StateWriter =
    writers.length === 1 && first !== undefined ? first : (answers) => writers.flatMap((write) => write(answers));
  return (answers) => {
    if (answers.length === 0) return NO_FIELDS;
    const fields = states(answers);
    if (quota === undefined) return fields;
    const policy: Field = ['ratelimit-policy', quotasOf(answers, quota)];
    // Spelled out for the usual form: a list that is spread takes room for sixteen.
    return fields.length === 1 ? [policy, fields[0] as Field] : [policy, ...fields];
  };
}

function quotasOf(answers: readonly Answer[], quota: 'named' | 'unnamed'): string {
  const [only] = answers;
  if (answers.length === 1 && only !== undefined) return only.fields[quota];
  return answers.map(({ fields }) => fields[quota]).join(', ');
}

function formsOf(headers: unknown): ReadonlySet<unknown> {
  const forms = new Set<unknown>(Array.isArray(headers) ? headers : [headers]);
  for (const form of forms) {
    if (form !== 'none' && !Object.hasOwn(STATES, form as string)) {
      throw refusal(`expected draft-11, draft-7, draft-6, legacy, none or a list of them, got ${show(form)}`);
    }
  }
  if (forms.size === 0 || (forms.has('none') && forms.size > 1))
    throw refusal('expected "none" alone, or at least one form');
  if (forms.has('draft-11') && forms.has('draft-7'))
    throw refusal('draft-11 and draft-7 both write RateLimit; choose one');
  return forms;
}

/** What each form writes of the current state. A policy that nobody counted has none: its quota is unknown. */
const STATES: Readonly<Record<WrittenForm, StateWriter>> = {
  'draft-11': (answers) => {
    let items = '';
    for (const { fields: policy, decision } of answers) {
      const { limits } = decision;
      for (let i = 0; i < limits.length; i++)
        items += namedItem(items, limits[i] as LimitState, policy.limits[i] as LimitFields);
    }
    return items === '' ? NO_FIELDS : [['ratelimit', items]];
  },
  'draft-7': strictly(({ limit, remaining, reset }) => [
    ['ratelimit', `limit=${limit}, remaining=${remaining}, reset=${reset}`],
  ]),
  'draft-6': strictly(({ limit, remaining, reset }) => [
    ['ratelimit-limit', `${limit}`],
    ['ratelimit-remaining', `${remaining}`],
    ['ratelimit-reset', `${reset}`],
  ]),
  legacy: strictly(({ limit, remaining, resetAt }) => [
    ['x-ratelimit-limit', `${limit}`],
    ['x-ratelimit-remaining', `${remaining}`],
    ['x-ratelimit-reset', `${resetAt}`],
  ]),
};

/** A form with room for one limit. */
function strictly(write: (state: Single) => readonly Field[]): StateWriter {
  return (answers) => {
    const state = strictest(answers);
    return state === undefined ? NO_FIELDS : write(state);
  };
}

function namedItem(before: string, state: LimitState, limit: LimitFields): string {
  const item = `${limit.item}${integer(state.remaining)};t=${effectiveWindow(state, limit)}`;
  return before === '' ? item : `, ${item}`;
}

/**
 * Seconds in which a client may use what is left. For long windows never less than using it evenly
 * takes, so that nobody is invited to burst; not while refused, where the wait is what counts.
 */
function effectiveWindow(state: LimitState, { windowSeconds, msPerUnit }: LimitFields): number {
  const window = state.nextAfterMs > 0 ? seconds(state.nextAfterMs) : windowSeconds;
  return state.retryAfterMs === 0 ? Math.max(window, seconds(state.remaining * msPerUnit)) : window;
}

interface Single {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until more can be used: the wait when refused. */
  readonly reset: number;
  /** Seconds since 1970 when the limit is as if unused. */
  readonly resetAt: number;
}

/** For forms with room for one limit: the refused one with the longest wait, else the one with least left. */
function strictest(answers: readonly Answer[]): Single | undefined {
  let strict: Decision | undefined;
  for (const { decision } of answers) {
    if (decision.binding !== undefined && (strict === undefined || isStricter(decision, strict))) strict = decision;
  }
  const state = strict?.binding;
  if (strict === undefined || state === undefined) return undefined;
  const resetMs = state.retryAfterMs === 0 || state.retryAfterMs === null ? state.nextAfterMs : state.retryAfterMs;
  return {
    limit: integer(state.limit),
    remaining: integer(state.remaining),
    reset: seconds(resetMs),
    resetAt: seconds(strict.atUs / 1000 + state.resetAfterMs),
  };
}

function isStricter(a: Decision, b: Decision): boolean {
  const [waitA, waitB] = [waitOf(a), waitOf(b)];
  return waitA !== waitB ? waitA > waitB : (a.binding?.remaining ?? 0) < (b.binding?.remaining ?? 0);
}

/** Ms that a decision makes its caller wait; infinite when waiting does not help. */
export function waitOf(decision: Decision): number {
  return decision.retryAfterMs ?? Number.POSITIVE_INFINITY;
}

function refusal(message: string): ComportaError {
  return new ComportaError('ERR_OPTION', `headers: ${message}`, 'headers');
}

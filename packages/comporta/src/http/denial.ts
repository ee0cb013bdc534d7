import type { Decision } from '../core/decision.js';
import { seconds } from './fields.js';
import { type Answer, type Field, waitOf } from './headers.js';

/** A refusal as HTTP says it. */
export interface Denial {
  readonly status: number;
  readonly headers: readonly Field[];
  readonly body: string;
}

const TYPES = 'https://iana.org/assignments/http-problem-types#';

/** RFC 9457. */
interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly 'violated-policies'?: readonly string[];
}

/** Words a refusal; needs one refused answer or more. A broken limit is 429, also when another policy cannot count. */
export function denialOf(refused: readonly Answer[]): Denial {
  const broken = refused.filter(({ decision }) => decision.reason !== 'store-unavailable');
  const worst = broken.reduce<Answer | undefined>(
    (a, b) => (a === undefined || waitOf(b.decision) > waitOf(a.decision) ? b : a),
    undefined,
  );
  if (worst === undefined) return OUTAGE;
  const retryAfter = retryAfterSeconds(worst.decision);
  const detail = detailOf(worst, retryAfter);
  const violated = broken.flatMap(violatedNames);
  // A block may have been set by hand: then nothing was violated.
  if (violated.length === 0) {
    return toDenial({ type: 'about:blank', title: 'Too Many Requests', status: 429, detail }, retryAfter);
  }
  const type = `${TYPES}quota-exceeded`;
  const problem = { type, title: 'Quota exceeded', status: 429, detail, 'violated-policies': violated };
  return toDenial(problem, retryAfter);
}

function toDenial(problem: Problem, retryAfter: number | undefined): Denial {
  const headers: Field[] = [
    ['content-type', 'application/problem+json'],
    ['cache-control', 'no-store'],
  ];
  if (retryAfter !== undefined) headers.push(['retry-after', `${retryAfter}`]);
  return { status: problem.status, headers, body: JSON.stringify(problem) };
}

/** Nobody could count, and the policy says to refuse then: the client has broken no limit. */
export const OUTAGE: Denial = toDenial(
  {
    type: `${TYPES}temporary-reduced-capacity`,
    title: 'Temporarily reduced capacity',
    status: 503,
    detail: 'Requests cannot be counted at the moment, so this one was refused. Try again in 1 second.',
    'violated-policies': [],
  },
  1,
);

/** A list of `deny` names the request. */
export const FORBIDDEN: Denial = toDenial(
  { type: 'about:blank', title: 'Forbidden', status: 403, detail: 'Requests of this client are not accepted.' },
  undefined,
);

/** Whole seconds, at least 1 and never before more can be used; `undefined` when waiting does not help. */
function retryAfterSeconds({ retryAfterMs, binding }: Decision): number | undefined {
  if (retryAfterMs === null) return undefined;
  return Math.max(1, seconds(retryAfterMs), seconds(binding?.nextAfterMs ?? 0));
}

function violatedNames({ fields, decision }: Answer): readonly string[] {
  if (decision.reason === 'blocked') return [];
  return fields.limits.filter((_, i) => decision.limits[i]?.retryAfterMs !== 0).map(({ name }) => name);
}

/** For people: which rule, and what to do. */
function detailOf(answer: Answer, retryAfter: number | undefined): string {
  const { decision } = answer;
  if (decision.reason === 'blocked') {
    const ending = retryAfter === undefined ? '' : ` Try again in ${inWords(retryAfter)}.`;
    return `${decision.policy} refuses all requests of this caller for the time being.${ending}`;
  }
  const rule = `${decision.policy} ${bindingRule(answer)}`;
  if (retryAfter === undefined) return `${rule}. This request costs ${decision.cost} and can never be admitted.`;
  const cost = decision.cost === 1 ? '' : ` This request costs ${decision.cost}.`;
  return `${rule}.${cost} Try again in ${inWords(retryAfter)}.`;
}

function bindingRule({ fields, decision }: Answer): string {
  const index = decision.limits.findIndex(({ id }) => id === decision.binding?.id);
  return fields.limits[index]?.rule ?? 'allows no more';
}

const UNITS: readonly (readonly [word: string, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** `90 seconds`, `2 hours 14 minutes`: two units at most, rounded up. */
function inWords(total: number): string {
  const unit = total <= 120 ? -1 : UNITS.findIndex(([, length]) => total >= length);
  if (unit < 0) return plural(total, 'second');
  const [[word, length], [smaller, part]] = [UNITS[unit] ?? ['second', 1], UNITS[unit + 1] ?? ['second', 1]];
  const rounded = Math.ceil(total / part) * part;
  const rest = (rounded % length) / part;
  const whole = plural(Math.floor(rounded / length), word);
  return rest === 0 ? whole : `${whole} ${plural(rest, smaller)}`;
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

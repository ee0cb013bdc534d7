import type { Decision } from '../core/decision.js';
import { denialOf, FORBIDDEN, OUTAGE } from './denial.js';
import type { Verdict } from './gate.js';
import type { Answer, Field } from './headers.js';

/** What a verdict tells beside what to answer. */
type Told = Pick<Verdict, 'decisions' | 'shadowed' | 'deniedBy'>;

const NOBODY: Told = { decisions: [], shadowed: [], deniedBy: [] };

/** For requests that no policy applies to. */
export const ALLOWED: Verdict = { allowed: true, status: 0, headers: [], body: '', ...NOBODY };

/** For requests that could not even be put to a store, where a policy asks to refuse then. */
export const UNAVAILABLE: Verdict = { allowed: false, ...OUTAGE, ...NOBODY };

/** For requests that a list of `deny` names. */
export function forbidden(deniedBy: readonly string[]): Verdict {
  return { allowed: false, ...FORBIDDEN, ...NOBODY, deniedBy };
}

/** The verdict on a request: refused when any enforced policy refuses it. */
export function verdictOf(
  enforced: readonly Answer[],
  fields: readonly Field[],
  decisions: readonly Decision[],
  shadowed: readonly Decision[],
  deniedBy: readonly string[],
): Verdict {
  if (enforced.every(isAdmitted)) {
    return { allowed: true, status: 0, headers: fields, body: '', decisions, shadowed, deniedBy };
  }
  const { status, headers, body } = denialOf(enforced.filter((answer) => !isAdmitted(answer)));
  return { allowed: false, status, headers: [...headers, ...fields], body, decisions, shadowed, deniedBy };
}

const isAdmitted = ({ decision }: Answer): boolean => decision.allowed;

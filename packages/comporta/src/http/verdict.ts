import type { Decision } from '../core/decision.js';
import { denialOf, OUTAGE } from './denial.js';
import type { Verdict } from './gate.js';
import type { Answer, Field } from './headers.js';

/** For requests that no policy applies to. */
export const ALLOWED: Verdict = { allowed: true, status: 0, headers: [], body: '', decisions: [] };

/** For requests that could not even be put to a store, where a policy asks to refuse then. */
export const UNAVAILABLE: Verdict = { allowed: false, ...OUTAGE, decisions: [] };

/** The verdict on a request: refused when any enforced policy refuses it. */
export function verdictOf(
  enforced: readonly Answer[],
  decisions: readonly Decision[],
  fields: readonly Field[],
): Verdict {
  const refused = enforced.filter(({ decision }) => !decision.allowed);
  if (refused.length === 0) return { allowed: true, status: 0, headers: fields, body: '', decisions };
  const { status, headers, body } = denialOf(refused);
  return { allowed: false, status, headers: [...headers, ...fields], body, decisions };
}

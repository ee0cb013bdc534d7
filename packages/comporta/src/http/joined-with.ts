import type { Verdict } from './gate.js';
import { withFields } from './web-end.js';

const OURS = /^(?:x-)?ratelimit/i;

/** The response with a verdict's fields where it has fields of such names itself; else as it is. */
export function joinedWith(response: Response, verdict: Verdict): Response {
  return verdict.headers.length > 0 && hasSuch(response) ? withFields(response, verdict) : response;
}

/**
 * Whether a response has rate-limit fields. Hono's server on Node keeps what a response was made of until somebody
 * asks for its fields, and is much slower after: where that can be seen it is read instead.
 */
function hasSuch(response: Response): boolean {
  for (const symbol of Object.getOwnPropertySymbols(response)) {
    const kept = (response as unknown as Record<symbol, unknown>)[symbol];
    if (!Array.isArray(kept) || kept.length !== 3 || typeof kept[0] !== 'number') continue;
    const fields: unknown = kept[2];
    if (!(fields instanceof Headers)) return Object.keys(fields ?? {}).some((name) => OURS.test(name));
    return hasNamed(fields);
  }
  return hasNamed(response.headers);
}

function hasNamed(fields: Headers): boolean {
  for (const name of fields.keys()) if (OURS.test(name)) return true;
  return false;
}

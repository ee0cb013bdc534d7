import { show } from '../core/errors.js';
import { refusal } from './options.js';

/** Settings often come from an environment, as text, and the served projects compare that as a number. */
function numberOf(given: unknown): unknown {
  return typeof given === 'string' && /^\d{1,15}$/.test(given.trim()) ? Number(given) : given;
}

/**
 * A limit as the served projects take it; `undefined` for `Infinity`, which admits everything. Throws a
 * `ComportaError` for what is no whole number: hits compared with it would all be let through.
 */
export function wholeLimit(given: unknown, field: string): number | undefined {
  const limit = numberOf(given);
  if (limit === Number.POSITIVE_INFINITY) return undefined;
  if (typeof limit === 'number' && Number.isSafeInteger(limit) && limit >= 0) return limit;
  throw refusal(field, `expected a whole number of at least 0, or Infinity, got ${show(given)}`);
}

/**
 * A window in whole ms, rounded up so that none admits more often than was asked for. Throws a `ComportaError`
 * for one that is not longer than 0: it would limit nothing.
 */
export function wholeWindow(given: unknown, field: string): number {
  const windowMs = numberOf(given);
  if (typeof windowMs === 'number' && Number.isFinite(windowMs) && windowMs > 0) return Math.ceil(windowMs);
  throw refusal(field, `expected a number of ms above 0, got ${show(given)}`);
}

/** As {@link wholeWindow}, with 0 for none at all. */
export function wholeBlock(given: unknown, field: string): number | undefined {
  return numberOf(given) === 0 ? undefined : wholeWindow(given, field);
}

import { ComportaError, show } from '../core/errors.js';
import { unawaited } from '../core/unawaited.js';
import { type KeyContext, messageOf } from '../identity/subject.js';
import type { RequestView } from '../identity/view.js';
import type { Policy } from './policy.js';

/** Cost of a request: `given` by the caller, else the policy's own. Always a cost that a limiter takes. */
export type CostOf<Request = unknown> = (view: RequestView<Request>, given: unknown) => number;

/** Compiles a cost; throws `ERR_COST`. */
export function compileCost<Request>(
  cost: Policy<Request>['cost'],
  field: string,
  report: KeyContext['report'],
): CostOf<Request> {
  if (typeof cost !== 'function' && cost !== undefined && !isCost(cost)) throw badCost(cost, field);
  const checked = (value: unknown): number => {
    if (isCost(value)) return value;
    report(badCost(value, field, '; the request costs 1'));
    return 1;
  };
  return (view, given) => {
    if (given !== undefined) return checked(given);
    if (typeof cost !== 'function') return cost ?? 1;
    try {
      return checked(unawaited(cost(view)));
    } catch (error) {
      report(
        new ComportaError('ERR_COST', `${field}: the function failed: ${messageOf(error)}; the request costs 1`, field),
      );
      return 1;
    }
  };
}

/** Whether a limiter takes a value as a cost. */
export function isCost(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The error of a value that is no cost. */
export function badCost(value: unknown, field: string, ending = ''): ComportaError {
  return new ComportaError(
    'ERR_COST',
    `${field}: expected a whole number from 0 to 2^53 - 1, got ${show(value)}${ending}`,
    field,
  );
}

import { ComportaError, show } from '../core/errors.js';
import { unawaited } from '../core/unawaited.js';
import { type KeyContext, messageOf } from '../identity/subject.js';
import type { RequestView } from '../identity/view.js';
import { badCost, isCost } from './cost.js';
import type { CountFunction, Outcome, Policy } from './policy.js';
import { refusal } from './refusal.js';

/** What a request that was charged so much costs in the end. Never throws. */
export type FinalCost<Request = unknown> = (outcome: Outcome, cost: number, view: RequestView<Request>) => number;

/** Compiles which requests stay charged; `undefined` when all do. Throws `ERR_POLICY`. */
export function compileCount<Request>(
  count: Policy<Request>['count'],
  field: string,
  report: KeyContext['report'],
): FinalCost<Request> | undefined {
  if (count === undefined || count === 'all') return undefined;
  if (count === 'failures') return (outcome, cost) => (isFailure(outcome) ? cost : 0);
  if (count === 'successes') return (outcome, cost) => (isFailure(outcome) ? 0 : cost);
  if (typeof count === 'function') return fromFunction(count, field, report);
  throw refusal(field, `expected all, failures, successes or a function, got ${show(count)}`);
}

/** No answer, or one that did not reach its end, is no success, whatever its status was to be. */
function isFailure({ status, aborted }: Outcome): boolean {
  return aborted || status >= 400 || status === 0;
}

function fromFunction<Request>(
  count: CountFunction<Request>,
  field: string,
  report: KeyContext['report'],
): FinalCost<Request> {
  return (outcome, cost, view) => {
    try {
      const final = unawaited(count({ ...outcome, cost }, view));
      if (isCost(final)) return final;
      report(badCost(final, field, `; the request stays at ${cost}`));
    } catch (error) {
      const message = `${field}: the function failed: ${messageOf(error)}; the request stays at ${cost}`;
      report(new ComportaError('ERR_COST', message, field));
    }
    return cost;
  };
}

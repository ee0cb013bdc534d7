import { ComportaError } from '../core/errors.js';
import type { Report } from './report.js';

const MET_TWICE: ComportaError = new ComportaError(
  'ERR_OPTION',
  'rateLimit: the same limiter met a request twice; it was counted once, but mount it in one place only',
);

/**
 * Whether an object is met for the first time. Of the first that is met again it is told, and of no other. The object
 * carries the mark: a weak set of every request costs the collector of garbage more than the rest of the decision.
 */
export function firstMeetings(report: Report): (met: object) => boolean {
  const mark = Symbol('comporta.met');
  /** Those that cannot be marked. */
  const frozen = new WeakSet<object>();
  let told = false;
  return (met) => {
    const own = met as Record<symbol, unknown>;
    if (own[mark] !== true && !frozen.has(met)) {
      if (!Object.isExtensible(met)) frozen.add(met);
      else own[mark] = true;
      return true;
    }
    if (!told) report(MET_TWICE);
    told = true;
    return false;
  };
}

import { ComportaError } from '../core/errors.js';
import type { Report } from './report.js';

const MET_TWICE: ComportaError = new ComportaError(
  'ERR_OPTION',
  'rateLimit: the same limiter met a request twice; it was counted once, but mount it in one place only',
);

/** Whether an object is met for the first time. Of the first that is met again it is told, and of no other. */
export function firstMeetings(report: Report): (met: object) => boolean {
  const seen = new WeakSet<object>();
  let told = false;
  return (met) => {
    if (!seen.has(met)) {
      seen.add(met);
      return true;
    }
    if (!told) report(MET_TWICE);
    told = true;
    return false;
  };
}

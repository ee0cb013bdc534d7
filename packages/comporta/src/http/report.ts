import type { ComportaError } from '../core/errors.js';
import { unawaited } from '../core/unawaited.js';

/** Told of faults that a request met but that must not break it. */
export type Report = (error: ComportaError) => void;

/** Distinct messages printed before silence: a fault in every request must not flood a log. */
const PRINTED_MAX = 100;

/** Calls `onError` for each fault, whatever it does; without one prints each distinct message once. */
export function createReport(onError: Report = printOnce()): Report {
  return (error) => {
    try {
      unawaited(onError(error));
    } catch {
      // A listener's fault is its own; the request goes on.
    }
  };
}

function printOnce(): Report {
  const printed = new Set<string>();
  return ({ code, message }) => {
    if (printed.has(message) || printed.size >= PRINTED_MAX) return;
    printed.add(message);
    console.warn(`comporta: ${code} ${message}`);
  };
}

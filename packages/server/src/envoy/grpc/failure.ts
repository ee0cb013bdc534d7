import { type ServerErrorResponse, status } from '@grpc/grpc-js';
import { BadRequest } from '../request.js';
import { Malformed, TooLarge } from '../wire/read.js';

/** Ends of a call that is not answered: Envoy then follows its own failure mode. */
type Failure = Pick<ServerErrorResponse, 'name' | 'message'> & { readonly code: status; readonly details: string };

const failure = (code: status, details: string): Failure => ({ name: 'Failure', message: details, code, details });

/** The caller will not wait for an answer: nothing was charged. */
export class TooLate extends Error {
  override readonly name: string = 'TooLate';
}

const TOO_LATE = failure(status.DEADLINE_EXCEEDED, 'the deadline leaves no time to decide');
export const NO_STORE: Failure = failure(status.UNAVAILABLE, 'the store did not answer, and a rule refuses without it');
const BROKEN = failure(status.INTERNAL, 'the request could not be decided');

/** What a fault of a request is for its sender; one of ours says nothing of its cause. */
export function failureOf(error: unknown): Failure {
  if (error instanceof TooLate) return TOO_LATE;
  if (error instanceof BadRequest || error instanceof Malformed) return failure(status.INVALID_ARGUMENT, error.message);
  if (error instanceof TooLarge) return failure(status.RESOURCE_EXHAUSTED, error.message);
  return BROKEN;
}

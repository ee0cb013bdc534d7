import { type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { monotonicMs, nowMs } from '../../time.js';
import type { Patience } from '../refund.js';
import type { RateLimitAnswer, RateLimitService } from '../service.js';
import { readRequest } from '../wire/read.js';
import { writeAnswer } from '../wire/write.js';
import { failureOf, NO_STORE, TooLate } from './failure.js';

/** A call that ended, for metrics. */
export interface Answered {
  /** As the caller sent it; empty where the request could not be read. */
  readonly domain: string;
  readonly code: status;
  /** What was decided; `undefined` where nothing was. */
  readonly answer: RateLimitAnswer | undefined;
  readonly durationMs: number;
}

export const codeOf = ({ isUnavailable }: RateLimitAnswer): status => (isUnavailable ? status.UNAVAILABLE : status.OK);

export interface HandlerOptions {
  /** The one in force at the moment. */
  readonly service: () => RateLimitService;
  readonly onAnswer?: ((answered: Answered) => void) | undefined;
  /** A fault of ours: the caller gets INTERNAL. */
  readonly onError: (error: Error) => void;
}

type Call = Pick<ServerUnaryCall<Buffer, Uint8Array>, 'request' | 'getDeadline' | 'cancelled'>;
type Callback = sendUnaryData<Uint8Array>;
type Handler = (call: Call, callback: Callback) => void;

/** `ShouldRateLimit`, on bytes. */
export function shouldRateLimit({ service, onAnswer, onError }: HandlerOptions): Handler {
  const tell = (domain: string, code: status, answer: RateLimitAnswer | undefined, startMs: number): void =>
    onAnswer?.({ domain, code, answer, durationMs: monotonicMs() - startMs });
  const fail = (error: unknown, callback: Callback, domain: string, startMs: number): void => {
    const failure = failureOf(error);
    if (failure.code === status.INTERNAL) onError(error instanceof Error ? error : new Error(String(error)));
    callback(failure);
    tell(domain, failure.code, undefined, startMs);
  };
  const reply = (answer: RateLimitAnswer, callback: Callback, domain: string, startMs: number): void => {
    if (answer.isUnavailable) callback(NO_STORE);
    else callback(null, writeAnswer(answer));
    tell(domain, codeOf(answer), answer, startMs);
  };
  return (call, callback) => {
    const startMs = onAnswer === undefined ? 0 : monotonicMs();
    let domain = '';
    try {
      const patience = patienceOf(call);
      const request = readRequest(call.request);
      domain = request.domain;
      const decided = service().decide(request, patience);
      if (!(decided instanceof Promise)) return reply(decided, callback, domain, startMs);
      decided
        .then((answer) => reply(answer, callback, domain, startMs))
        .catch((error) => fail(error, callback, domain, startMs));
    } catch (error) {
      fail(error, callback, domain, startMs);
    }
  };
}

/** Kept of a caller's time for the way back: a quarter of it, within bounds. */
const marginMs = (leftMs: number): number => Math.min(100, Math.max(1, leftMs / 4));

/** Without a deadline the limiters' own time limit holds. */
const PATIENT: Patience = {};

/** How long a decision may take for its answer to come before the deadline; throws {@link TooLate} where none can. */
function patienceOf(call: Call): Patience {
  // What was given up is not charged. What the store was asked already, nobody can take back.
  if (call.cancelled) throw new TooLate();
  const deadlineMs = Number(call.getDeadline());
  if (deadlineMs === Number.POSITIVE_INFINITY) return PATIENT;
  const leftMs = deadlineMs - nowMs();
  const timeoutMs = leftMs - marginMs(leftMs);
  if (timeoutMs > 0) return { timeoutMs };
  throw new TooLate();
}

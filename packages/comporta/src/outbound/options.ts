import { ComportaError, show } from '../core/errors.js';
import { checkOptionNames } from '../core/option-names.js';
import type { Limiter } from '../limiter/limiter.js';
import type { OutboundRequest } from './request.js';

/** A request was refused, here or by the third party. */
export interface LimitedEvent {
  readonly subject: string;
  /** Who refused: `limiter` here, before anything was sent; `server` with a status of its own. */
  readonly by: 'limiter' | 'server';
  readonly status: number;
  /** Ms to wait; `null` when nobody can say, or when waiting does not help. */
  readonly retryAfterMs: number | null;
  readonly willRetry: boolean;
}

/** Settings of {@link limitFetch}. */
export interface LimitFetchOptions {
  /** Holds the third party's limit; one store makes it hold over all processes. */
  readonly limiter: Limiter;
  /** Whom the third party counts: its host by default; often the host with the account or the token. */
  readonly subject?: (request: OutboundRequest) => string;
  /** What a request takes of the limit; 1 by default. */
  readonly cost?: number | ((request: OutboundRequest) => number);
  /** Longest time that one call waits in all, the requests themselves not counted, in ms; 30 000 by default. */
  readonly maxWaitMs?: number;
  /** How often a request that the third party refused is sent again: 0 to 10, 2 by default. */
  readonly retries?: number;
  /** Methods that may be sent again; by default those that are idempotent: GET HEAD OPTIONS TRACE PUT DELETE. */
  readonly retryMethods?: readonly string[];
  /** Longest pause that a third party can ask for, in ms; an hour by default. It is asked again after it. */
  readonly maxPauseMs?: number;
  /** Told of every refusal; for logs and metrics. */
  readonly onLimited?: (event: LimitedEvent) => void;
}

/** The options with every default filled in. */
export interface CheckedOptions extends Required<Omit<LimitFetchOptions, 'retryMethods' | 'cost'>> {
  readonly cost: (request: OutboundRequest) => number;
  readonly retryMethods: ReadonlySet<string>;
}

const IDEMPOTENT: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'];
const RETRIES_MAX = 10;
const KNOWN = 'limiter subject cost maxWaitMs retries retryMethods maxPauseMs onLimited'.split(' ');

/** Throws `ERR_OPTION` naming the option that cannot be meant. */
export function checkOptions(options: LimitFetchOptions): CheckedOptions {
  if (typeof options !== 'object' || options === null) {
    throw refusal('options', `expected { limiter, ... }, got ${show(options)}`);
  }
  checkOptionNames(options, KNOWN);
  const { limiter, cost = 1, retryMethods = IDEMPOTENT, retries = 2 } = options;
  const { subject = ({ url }) => url.host, onLimited = () => undefined } = options;
  if (typeof limiter?.wait !== 'function') throw refusal('limiter', `expected a limiter, got ${show(limiter)}`);
  if (!Number.isSafeInteger(retries) || retries < 0 || retries > RETRIES_MAX) {
    throw refusal('retries', `expected a whole number from 0 to ${RETRIES_MAX}, got ${show(retries)}`);
  }
  if (!Array.isArray(retryMethods) || !retryMethods.every((method) => typeof method === 'string')) {
    throw refusal('retryMethods', `expected a list of methods, got ${show(retryMethods)}`);
  }
  for (const [name, value] of Object.entries({ subject, onLimited })) {
    if (typeof value !== 'function') throw refusal(name, `expected a function, got ${show(value)}`);
  }
  if (typeof cost !== 'function' && !(Number.isSafeInteger(cost) && cost >= 0)) {
    throw refusal('cost', `expected a whole number of at least 0 or a function, got ${show(cost)}`);
  }
  return {
    limiter,
    subject,
    cost: typeof cost === 'function' ? cost : () => cost,
    maxWaitMs: checkMs('maxWaitMs', options.maxWaitMs ?? 30_000),
    retries,
    retryMethods: new Set(retryMethods.map((method) => method.toUpperCase())),
    maxPauseMs: checkMs('maxPauseMs', options.maxPauseMs ?? 3_600_000),
    onLimited,
  };
}

function checkMs(field: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw refusal(field, `expected milliseconds of at least 0, or Infinity, got ${show(value)}`);
}

function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_OPTION', `${field}: ${message}`, field);
}

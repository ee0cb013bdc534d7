import type { IncomingMessage } from 'node:http';
import type { Decision, Degraded } from 'comporta';
import type { Verdict } from 'comporta/http';

/** A request that a door has dealt with. */
export interface Access {
  readonly request: IncomingMessage;
  readonly route: string;
  /** 0 when the client went away before it was told one. */
  readonly status: number;
  readonly durationMs: number;
  /** `undefined` when nobody was asked. */
  readonly words: Words | undefined;
}

/** One line of the access log; what does not apply is left out. */
export interface Entry {
  readonly time: string;
  readonly door: string;
  readonly method: string;
  readonly route: string;
  readonly path?: string;
  readonly status: number;
  readonly durationMs: number;
  readonly outcome?: 'allowed' | 'denied' | 'error';
  /** Who refused, or else all who admitted. */
  readonly policy?: string;
  /** Who would have refused, were they enforced. */
  readonly shadow?: string;
  /** Failure mode and cause where the store did not decide. */
  readonly degraded?: string;
  readonly client?: string;
  readonly traceId?: string;
}

/** What was decided, in the words of the log. */
export type Words = Pick<Entry, 'outcome' | 'policy' | 'shadow' | 'degraded'>;

/** What the log makes of a verdict. */
export type Decided = Pick<Verdict, 'allowed' | 'status' | 'decisions' | 'shadowed' | 'deniedBy'>;

/** `undefined` where no policy was asked. */
export function wordsOf(verdict: Decided | undefined): Words | undefined {
  if (verdict === undefined) return undefined;
  const { allowed, status, decisions, shadowed, deniedBy } = verdict;
  if (allowed && decisions.length === 0) return undefined;
  const enforced = decisions.filter((decision) => !shadowed.includes(decision));
  const refusing = [...deniedBy, ...enforced.filter((decision) => !decision.allowed).map(({ policy }) => policy)];
  const admitting = decisions.filter((decision) => decision.allowed || enforced.includes(decision));
  const policy = (allowed ? admitting.map(({ policy }) => policy) : refusing).join(',');
  const shadow = shadowed.filter((decision) => !decision.allowed).map(({ policy }) => policy);
  const degraded = decisions.find((decision) => decision.degraded !== undefined)?.degraded;
  return {
    outcome: allowed ? 'allowed' : status === 503 ? 'error' : 'denied',
    ...(policy !== '' && { policy }),
    ...(shadow.length > 0 && { shadow: shadow.join(',') }),
    ...degradedWords(degraded),
  };
}

export const degradedWords = (degraded: Degraded | undefined): Words =>
  degraded === undefined ? {} : { degraded: `${degraded.mode}:${degraded.cause}` };

/** The words of decisions that no gate made: together they allowed, or not. */
export function wordsOfDecisions(decisions: readonly Decision[], allowed: boolean): Words | undefined {
  const refused = decisions.filter((decision) => !decision.allowed);
  const isLimited = refused.some(({ reason }) => reason !== 'store-unavailable');
  return wordsOf({ allowed, status: isLimited ? 429 : 503, decisions, shadowed: [], deniedBy: [] });
}

const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

/** The trace of a request, where it carries W3C trace context. */
export function traceIdOf({ headers }: IncomingMessage): string | undefined {
  const { traceparent } = headers;
  const id = typeof traceparent === 'string' ? TRACE_PARENT.exec(traceparent)?.[1] : undefined;
  return id === '0'.repeat(32) ? undefined : id;
}

/** Queries carry keys and tokens: they are never logged. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.search(/[?#]/);
  return end < 0 ? url : url.slice(0, end);
}

import type { IncomingMessage } from 'node:http';
import type { Verdict } from 'comporta/http';

/** A request that a door has dealt with. */
export interface Access {
  readonly request: IncomingMessage;
  readonly route: string;
  /** 0 when the client went away before it was told one. */
  readonly status: number;
  readonly durationMs: number;
  /** `undefined` when nobody was asked. */
  readonly verdict: Verdict | undefined;
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
  /** Who refused, or else all who decided. */
  readonly policy?: string;
  /** Who would have refused, were they enforced. */
  readonly shadow?: string;
  /** Failure mode and cause where the store did not decide. */
  readonly degraded?: string;
  readonly client?: string;
  readonly traceId?: string;
}

/** What a verdict says, in the words of the log. */
export function wordsOf(verdict: Verdict | undefined): Pick<Entry, 'outcome' | 'policy' | 'shadow' | 'degraded'> {
  if (verdict === undefined) return {};
  const { allowed, status, decisions, shadowed, deniedBy } = verdict;
  const enforced = decisions.filter((decision) => !shadowed.includes(decision));
  const refusing = [...deniedBy, ...enforced.filter((decision) => !decision.allowed).map(({ policy }) => policy)];
  const policy = (allowed ? enforced.map(({ policy }) => policy) : refusing).join(',');
  const shadow = shadowed.filter((decision) => !decision.allowed).map(({ policy }) => policy);
  const degraded = decisions.find((decision) => decision.degraded !== undefined)?.degraded;
  return {
    outcome: allowed ? 'allowed' : status === 503 ? 'error' : 'denied',
    ...(policy !== '' && { policy }),
    ...(shadow.length > 0 && { shadow: shadow.join(',') }),
    ...(degraded !== undefined && { degraded: `${degraded.mode}:${degraded.cause}` }),
  };
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

import type { Verdict } from './gate.js';

/** Names that tRPC and GraphQL servers give to what HTTP says by a status. */
const CODES = { 403: 'FORBIDDEN', 429: 'TOO_MANY_REQUESTS', 503: 'SERVICE_UNAVAILABLE' } as const;

/** A refusal as an error, for frameworks that take refusals so; its message is the problem's `detail`. */
export class RateLimitRefusal extends Error {
  override readonly name: string = 'RateLimitRefusal';
  /** 429 for a denial, 503 when nobody could count, 403 by a list of `deny`. */
  readonly status: 403 | 429 | 503;
  readonly code: (typeof CODES)[403 | 429 | 503];
  /** Milliseconds to wait, from 1; `undefined` when waiting does not help. */
  readonly retryAfterMs: number | undefined;
  /** RFC 9457, as the HTTP doors send it. */
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(verdict: Verdict) {
    const problem = JSON.parse(verdict.body) as Readonly<Record<string, unknown>>;
    super(String(problem.detail));
    this.status = verdict.status as keyof typeof CODES;
    this.code = CODES[this.status];
    this.retryAfterMs = waitMsOf(verdict);
    this.problem = problem;
  }
}

/** By the exact waits of the limits; where nobody counted, by the field. */
function waitMsOf({ status, headers, decisions, shadowed }: Verdict): number | undefined {
  if (status !== 429) {
    const seconds = headers.find(([name]) => name === 'retry-after')?.[1];
    return seconds === undefined ? undefined : Number(seconds) * 1000;
  }
  const broken = decisions.filter(
    (decision) => !decision.allowed && decision.reason !== 'store-unavailable' && !shadowed.includes(decision),
  );
  const waitMs = Math.max(...broken.map(({ retryAfterMs }) => retryAfterMs ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(waitMs) ? Math.max(1, waitMs) : undefined;
}

/** How often and how long one sink is tried. */
export interface RetrySettings {
  readonly attemptsMax: number;
  readonly timeoutMs: number;
  /** Wait after the first failed attempt; doubles with each. */
  readonly firstWaitMs: number;
  readonly waitMaxMs: number;
  readonly queueMax: number;
}

/** About seven minutes in all: an outage of the network may well hit the store and the sink together. */
export const RETRY_DEFAULTS: RetrySettings = {
  attemptsMax: 12,
  timeoutMs: 5000,
  firstWaitMs: 1000,
  waitMaxMs: 60_000,
  queueMax: 100,
};

/** Longest wait that a sink may ask for. */
const RETRY_AFTER_MAX_MS = 300_000;

/** What came of one attempt. */
export type Outcome =
  | { readonly status: number; readonly retryAfter: string | undefined }
  /** No answer; `isFinal` when another attempt would be of no use. */
  | { readonly fault: string; readonly isFinal: boolean };

export type Verdict =
  | { readonly kind: 'sent' }
  | { readonly kind: 'again'; readonly waitMs: number; readonly reason: string }
  | { readonly kind: 'given-up'; readonly reason: string };

/** Statuses below 500 that say "later", not "never". */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);

/** What to do after attempt number `attempt`, the first being 1. `chance` is from 0 to 1 and spreads processes. */
export function judge(
  outcome: Outcome,
  attempt: number,
  settings: RetrySettings,
  nowMs: number,
  chance: number,
): Verdict {
  const reason = 'fault' in outcome ? outcome.fault : describe(outcome.status);
  if ('status' in outcome && outcome.status >= 200 && outcome.status < 300) return { kind: 'sent' };
  const isFinal = 'fault' in outcome ? outcome.isFinal : outcome.status < 500 && !LATER.has(outcome.status);
  if (isFinal || attempt >= settings.attemptsMax) return { kind: 'given-up', reason };
  const askedMs = 'status' in outcome ? retryAfterMs(outcome.retryAfter, nowMs) : 0;
  return { kind: 'again', waitMs: Math.max(askedMs, backOffMs(attempt, settings, chance)), reason };
}

function describe(status: number): string {
  return status >= 300 && status < 400 ? `status ${status}: redirects are not followed` : `status ${status}`;
}

/** Half of the doubled wait is fixed and half is chance. */
function backOffMs(attempt: number, { firstWaitMs, waitMaxMs }: RetrySettings, chance: number): number {
  const fullMs = Math.min(waitMaxMs, firstWaitMs * 2 ** Math.min(attempt - 1, 30));
  return fullMs * (0.5 + 0.5 * chance);
}

/** `Retry-After` as seconds or as a date; 0 when it is neither. */
export function retryAfterMs(value: string | undefined, nowMs: number): number {
  if (value === undefined) return 0;
  const isDate = /^[A-Z][a-z]+, /.test(value);
  const waitMs = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : isDate ? Date.parse(value) - nowMs : 0;
  return Number.isFinite(waitMs) ? Math.min(RETRY_AFTER_MAX_MS, Math.max(0, waitMs)) : 0;
}

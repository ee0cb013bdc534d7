import type { DenialReason } from '../core/decision.js';

/** Why a request was not sent: the limiter's reason, or a pause that the third party asked for. */
export interface Refusal {
  readonly reason: DenialReason | 'paused' | undefined;
  /** `null` when waiting does not help or nobody can say. */
  readonly retryAfterMs: number | null;
}

const DETAILS: Readonly<Record<string, string>> = {
  paused: 'The third party has asked for a pause.',
  blocked: 'Its subject is blocked for a time, as other processes do when the third party asks for a pause.',
  'limit-exceeded': 'Its turn under the limit does not come in time.',
  'cost-exceeds-limit': 'It costs more than the limit can ever admit.',
  'too-many-waiting': 'Too many requests wait already.',
  'store-unavailable': 'Requests cannot be counted at the moment.',
};

/** The answer to a request that was not sent: 503 when nobody could count, else 429. Its `url` is empty. */
export function notSent(policy: string, { reason = 'limit-exceeded', retryAfterMs }: Refusal): Response {
  const status = reason === 'store-unavailable' ? 503 : 429;
  const headers = new Headers({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' });
  if (retryAfterMs !== null) headers.set('retry-after', `${Math.max(1, Math.ceil(retryAfterMs / 1000))}`);
  const detail = `This request was not sent. ${DETAILS[reason]}`;
  const problem = { type: 'about:blank', title: 'Not sent', status, detail, policy, reason };
  return new Response(JSON.stringify(problem), { status, headers });
}

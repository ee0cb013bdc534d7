import type { Verdict } from '../../http/gate.js';
import { RateLimitRefusal } from '../../http/refusal-error.js';

/** What is known of a refused call on both sides of the wire. */
export interface ActionRefusal {
  /** 429; 503 when nobody could count, 403 by a list of `deny`. */
  readonly status: number;
  /** `undefined` when waiting does not help. */
  readonly retryAfterSeconds: number | undefined;
}

/**
 * A call that was refused. React hides the message of a server's error from browsers but passes its `digest` on:
 * {@link refusalOf} reads it there.
 */
export class ActionRefusedError extends RateLimitRefusal implements ActionRefusal {
  override readonly name: string = 'ActionRefusedError';
  readonly retryAfterSeconds: number | undefined;
  readonly digest: string;

  constructor(verdict: Verdict) {
    super(verdict);
    const [, wait = ''] = verdict.headers.find(([name]) => name === 'retry-after') ?? [];
    this.retryAfterSeconds = wait === '' ? undefined : Number(wait);
    this.digest = `COMPORTA_REFUSED;${this.status};${wait}`;
  }
}

/** What a caught error says of a refused call, in the server or in a browser; `undefined` for all other errors. */
export function refusalOf(error: unknown): ActionRefusal | undefined {
  const { digest } = (error ?? {}) as { readonly digest?: unknown };
  const [, status, wait] = /^COMPORTA_REFUSED;(\d{3});(\d*)$/.exec(typeof digest === 'string' ? digest : '') ?? [];
  if (status === undefined) return undefined;
  return { status: Number(status), retryAfterSeconds: wait ? Number(wait) : undefined };
}

import type { DegradedCause } from '../core/decision.js';
import { StoreError } from '../core/waiting.js';

/**
 * What a drop-in store in mode `closed` rejects with when the limit cannot be known. Express, Fastify, Nest and Hono
 * answer it with 503, unless the limiter's own rule for store errors says otherwise. Its text names no host.
 */
export class UnavailableError extends StoreError {
  override readonly name: string = 'UnavailableError';
  readonly status = 503;
  readonly statusCode = 503;
  readonly expose = false;

  constructor(cause: DegradedCause) {
    super(cause, 'the store of the rate limit did not answer');
  }

  /** Read by Hono. */
  getResponse(): Response {
    return new Response('Service Unavailable', { status: this.status });
  }
}

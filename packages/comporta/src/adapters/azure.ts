import type { HttpRequest, HttpResponse, HttpResponseInit, InvocationContext } from '@azure/functions';
import { type FunctionOptions, limitFunction } from '../doors/azure/handler.js';
import type { Gate, RateLimitOptions } from '../http/index.js';

export type { ClientAddress, Platform, RateLimitOptions } from '../http/index.js';

/** A handler of an HTTP trigger, in the Node.js programming model 4. */
export type AzureHandler = (
  request: HttpRequest,
  context: InvocationContext,
) => HttpResponseInit | HttpResponse | Promise<HttpResponseInit | HttpResponse>;

export type AzureOptions = RateLimitOptions<HttpRequest> & FunctionOptions<HttpRequest, InvocationContext>;

/** A handler behind a gate; `close` ends the gate. */
export interface LimitedHandler {
  (request: HttpRequest, context: InvocationContext): Promise<HttpResponseInit | HttpResponse>;
  readonly gate: Gate<HttpRequest>;
  close(): Promise<void>;
}

/**
 * Wraps a handler so that requests over their limits never reach it:
 * `app.http('name', { handler: withRateLimit(handler, { limits: tokenBucket({ ... }) }) })`. The answer counts as
 * ended when the handler has returned it. Throws when an option is wrong.
 */
export function withRateLimit(handler: AzureHandler, options: AzureOptions): LimitedHandler {
  const { gate, handle } = limitFunction(handler, options);
  return Object.assign(handle, { gate, close: () => gate.close() });
}

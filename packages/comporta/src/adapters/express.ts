import type { Request as ExpressOwnRequest } from 'express';
import {
  type Gate,
  mount,
  type NodeAnswer,
  type NodeRequest,
  NodeResponder,
  NodeView,
  onNodeEnd,
  type RateLimitOptions,
  respond,
  type Verdict,
} from '../http/index.js';

export type { RateLimitOptions } from '../http/index.js';

/** What is read of an Express request; connect-style requests without routing do too. */
export interface ExpressRequest extends NodeRequest {
  readonly originalUrl?: string;
  readonly baseUrl?: string;
  readonly route?: { readonly path?: unknown };
}

/** What is used of an Express or plain Node response. */
export type ExpressResponse = NodeAnswer & { destroy?(): unknown };

/** Express middleware that refuses requests over their limits. */
export interface RateLimitMiddleware<Request> {
  (request: Request, response: ExpressResponse, next: () => void): void;
  readonly gate: Gate<Request>;
  close(): Promise<void>;
}

/**
 * Makes the middleware, for Express 4 and 5: `app.use(rateLimit({ limits: tokenBucket({ ... }) }))`. Throws when an
 * option is wrong. On servers of connect's kind name their request: `rateLimit<IncomingMessage>({ ... })`.
 */
export function rateLimit<Request extends ExpressRequest = ExpressOwnRequest>(
  options: RateLimitOptions<Request>,
): RateLimitMiddleware<Request> {
  const { gate, check } = mount(options);
  const middleware = (request: Request, response: ExpressResponse, next: () => void): void => {
    const verdict = check(
      request,
      new NodeView(request, request, request.originalUrl ?? request.url, routeOf(request)),
    );
    const goOn = (settled: Verdict) => {
      onNodeEnd(request, response, settled.finish);
      if (respond(settled, new NodeResponder(response))) next();
      // Somebody has begun an answer that cannot become a refusal, and nobody after us will end it.
      else if (response?.headersSent === true && !response.writableEnded) response.destroy?.();
    };
    if (verdict instanceof Promise) void verdict.then(goOn);
    else goOn(verdict);
  };
  return Object.assign(middleware, { gate, close: () => gate.close() });
}

/** Known only where the limiter is part of a route: `app.get('/users/:id', rateLimit(...), handler)`. */
function routeOf({ baseUrl = '', route }: ExpressRequest): string | undefined {
  return typeof route?.path === 'string' ? baseUrl + route.path : undefined;
}

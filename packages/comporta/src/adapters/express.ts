import {
  type Gate,
  mount,
  type NodeRequest,
  type NodeResponse,
  NodeView,
  onNodeEnd,
  type RateLimitOptions,
  type Responder,
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
export interface ExpressResponse extends NodeResponse {
  statusCode: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** Express middleware that refuses requests over their limits. */
export interface RateLimitMiddleware<Request> {
  (request: Request, response: ExpressResponse, next: () => void): void;
  readonly gate: Gate<Request>;
  close(): Promise<void>;
}

/** Makes the middleware: `app.use(rateLimit({ limits: tokenBucket({ ... }) }))`. Throws when an option is wrong. */
export function rateLimit<Request extends ExpressRequest = ExpressRequest>(
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
      if (respond(settled, responderOf(response))) next();
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

function responderOf(response: ExpressResponse): Responder {
  return {
    isOpen: () => !(response.headersSent || response.writableEnded || response.destroyed),
    get: (name) => response.getHeader(name),
    set: (name, value) => void response.setHeader(name, value),
    send: (status, body) => {
      response.statusCode = status;
      response.end(body);
    },
  };
}

import type { NodeRequest, NodeResponse, RateLimitOptions, Responder, Verdict } from '../http/index.js';
import { checkHook, mount, NodeView, onNodeEnd, respond } from '../http/index.js';

export type { RateLimitOptions } from '../http/index.js';

/** Settings of a route, as `config: { rateLimit: ... }`: `false` leaves it out, `cost` replaces the policies' own. */
export type RouteRateLimit = false | { readonly cost?: number };

/** What is read of a Fastify request. */
export interface FastifyRequest {
  readonly raw: NodeRequest;
  readonly routeOptions: { readonly url?: string | undefined; readonly config?: unknown };
}

/** What is used of a Fastify reply. */
export interface FastifyReply {
  readonly sent: boolean;
  readonly raw: NodeResponse;
  code(status: number): unknown;
  getHeader(name: string): unknown;
  header(name: string, value: string): unknown;
  send(body: Uint8Array): unknown;
}

/** What is used of a Fastify instance. */
export interface FastifyServer {
  addHook(
    name: 'onRequest' | 'preHandler',
    hook: (request: FastifyRequest, reply: FastifyReply, done: () => void) => void,
  ): unknown;
  addHook(name: 'onClose', hook: () => Promise<void>): unknown;
}

/** As for every adapter; `hook: 'preHandler'` decides after the body was parsed, for costs that depend on it. */
export type FastifyOptions<Request = unknown> = RateLimitOptions<Request> & {
  /** `onRequest` by default: refused requests then cost no parsing. */
  readonly hook?: 'onRequest' | 'preHandler';
};

/** Fastify plugin that refuses requests over their limits: `app.register(rateLimit, { limits: tokenBucket(...) })`. */
export async function rateLimit<Request extends FastifyRequest = FastifyRequest>(
  server: FastifyServer,
  { hook, ...options }: FastifyOptions<Request>,
): Promise<void> {
  const { gate, check } = mount<Request>(options as RateLimitOptions<Request>);
  server.addHook('onClose', () => gate.close());
  server.addHook(checkHook(hook), (request, reply, next) => {
    const { url, config } = request.routeOptions;
    const own = (config as { readonly rateLimit?: RouteRateLimit } | undefined)?.rateLimit;
    if (own === false) return next();
    const verdict = check(request, new NodeView(request.raw, request as Request, request.raw.url, url), own?.cost);
    const goOn = (settled: Verdict) => {
      onNodeEnd(request.raw, reply.raw, settled.finish);
      if (respond(settled, responderOf(reply))) next();
    };
    if (verdict instanceof Promise) void verdict.then(goOn);
    else goOn(verdict);
  });
}

// Hooks are for the whole application, not only for the plugin's own scope.
Object.assign(rateLimit, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: 'comporta' });

const utf8: TextEncoder = new TextEncoder();

function responderOf(reply: FastifyReply): Responder {
  return {
    isOpen: () => !(reply.sent || reply.raw.headersSent || reply.raw.destroyed),
    get: (name) => reply.getHeader(name),
    set: (name, value) => void reply.header(name, value),
    send: (status, body) => {
      reply.code(status);
      // Bytes, since Fastify would add a charset to the type of a text.
      reply.send(utf8.encode(body));
    },
  };
}

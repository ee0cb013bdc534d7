import type { FastifyReply, FastifyRequest } from 'fastify';
import { ReplyResponder } from '../doors/fastify/reply-responder.js';
import type { Route, RoutedOptions, RouteLimits } from '../doors/fastify/route-mounts.js';
import { RouteMounts } from '../doors/fastify/route-mounts.js';
import type { Verdict } from '../http/index.js';
import { checkHook, NodeView, onNodeEnd, respond } from '../http/index.js';

export type { RateLimitOptions } from '../http/index.js';

/** `config: { rateLimit }` of a route: leave it out, take it in, another cost, or limits in place of the plugin's. */
export type RouteRateLimit = RouteLimits<FastifyRequest>;

/** As for every adapter, and without limits of its own where `global: false` limits only the routes that ask for it. */
export type FastifyOptions = RoutedOptions<FastifyRequest> & {
  /** `onRequest` by default; `preHandler` decides after the body was parsed, for keys and costs that depend on it. */
  readonly hook?: 'onRequest' | 'preHandler';
};

/** What `app.comporta` is: all limiters by name of the policy, and the gate of routes without limits of their own. */
export type FastifyLimits = Pick<RouteMounts<FastifyRequest>, 'gate' | 'limiters'>;

declare module 'fastify' {
  interface FastifyInstance {
    readonly comporta: FastifyLimits;
  }
}

/** What is used of a Fastify instance. */
export interface FastifyServer {
  addHook(
    name: 'onRequest' | 'preHandler',
    hook: (request: FastifyRequest, reply: FastifyReply, done: () => void) => void,
  ): unknown;
  addHook(name: 'onRoute', hook: (this: object, route: Route & { readonly config?: unknown }) => void): unknown;
  addHook(name: 'onClose', hook: () => Promise<void>): unknown;
  decorate(name: 'comporta', limits: FastifyLimits): unknown;
}

/** Fastify plugin that refuses requests over their limits: `app.register(rateLimit, { limits: tokenBucket(...) })`. */
export async function rateLimit(server: FastifyServer, { hook, ...options }: FastifyOptions): Promise<void> {
  const mounts = new RouteMounts(options as RoutedOptions<FastifyRequest>);
  if (!Object.hasOwn(server, 'comporta')) server.decorate('comporta', mounts);
  /** Of plugins around a route the innermost reads its settings; all heed `false`. */
  const settingsOf = (scope: object, config: unknown): unknown => {
    const { rateLimit: own } = (config ?? {}) as { readonly rateLimit?: RouteRateLimit };
    return own === false || (scope as { readonly comporta?: unknown }).comporta === mounts ? own : undefined;
  };
  server.addHook('onClose', () => mounts.close());
  server.addHook('onRoute', function (route) {
    mounts.add(settingsOf(this, route.config), route);
  });
  server.addHook(checkHook(hook), (request, reply, next) => {
    const route = request.routeOptions;
    const { mounted, cost } = mounts.of(settingsOf(request.server, route.config), route);
    if (mounted === undefined) return next();
    const view = new NodeView(request.raw, request, request.raw.url, route.url);
    const verdict = mounted.check(request, view, cost);
    if (verdict instanceof Promise) void verdict.then((settled) => goOn(settled, request, reply, next));
    else goOn(verdict, request, reply, next);
  });
}

function goOn(verdict: Verdict, request: FastifyRequest, reply: FastifyReply, next: () => void): void {
  onNodeEnd(request.raw, reply.raw, verdict.finish);
  if (respond(verdict, new ReplyResponder(reply))) next();
}

// Hooks are for the scope that registers the plugin, not only for the plugin's own.
Object.assign(rateLimit, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: 'comporta' });

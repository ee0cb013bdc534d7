import type { Context } from 'koa';
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
} from '../http/index.js';

export type { RateLimitOptions } from '../http/index.js';

/** What is read and written of a Koa context. */
export interface KoaContext {
  readonly req: NodeRequest;
  readonly res: NodeResponse;
  readonly originalUrl: string;
  readonly headerSent: boolean;
  readonly writable: boolean;
  /** False where a middleware answers past Koa. */
  readonly respond?: boolean | undefined;
  /** Template of the route, set by `@koa/router`. */
  readonly _matchedRoute?: unknown;
  readonly response: { get(name: string): unknown };
  status: number;
  body: unknown;
  set(name: string, value: string): void;
}

/** Koa middleware that refuses requests over their limits. */
export interface RateLimitMiddleware<Ctx> {
  (ctx: Ctx, next: () => Promise<unknown>): Promise<void>;
  readonly gate: Gate<Ctx>;
  close(): Promise<void>;
}

/**
 * Makes the middleware: `app.use(rateLimit({ limits: tokenBucket({ ... }) }))`. Key, cost, count and allow functions
 * find Koa's context as `view.request`. Throws when an option is wrong.
 */
export function rateLimit<Ctx extends KoaContext = Context>(options: RateLimitOptions<Ctx>): RateLimitMiddleware<Ctx> {
  const { gate, check } = mount(options);
  const middleware = async (ctx: Ctx, next: () => Promise<unknown>): Promise<void> => {
    const { req, res, originalUrl, _matchedRoute: route } = ctx;
    const verdict = await check(
      ctx,
      new NodeView(req, ctx, originalUrl, typeof route === 'string' ? route : undefined),
    );
    onNodeEnd(req, res, verdict.finish);
    if (respond(verdict, responderOf(ctx))) await next();
  };
  return Object.assign(middleware, { gate, close: () => gate.close() });
}

/** Through the context, so that middleware mounted before sees a refusal as any other answer. */
function responderOf(ctx: KoaContext): Responder {
  return {
    isOpen: () => ctx.respond !== false && ctx.writable && !ctx.headerSent && !ctx.res.destroyed,
    get: (name) => ctx.response.get(name),
    set: (name, value) => ctx.set(name, value),
    send: (status, body) => {
      ctx.status = status;
      ctx.body = body;
    },
  };
}

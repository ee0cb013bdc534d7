import type { Context } from 'koa';
import { type KoaContext, KoaResponder } from '../doors/koa/responder.js';
import { type Gate, mount, NodeView, onNodeEnd, type RateLimitOptions, respond } from '../http/index.js';

export type { KoaContext } from '../doors/koa/responder.js';
export type { RateLimitOptions } from '../http/index.js';

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
    const view = new NodeView(req, ctx, originalUrl, typeof route === 'string' ? route : undefined);
    const found = check(ctx, view);
    const verdict = found instanceof Promise ? await found : found;
    onNodeEnd(req, res, verdict.finish);
    if (respond(verdict, new KoaResponder(ctx))) await next();
  };
  return Object.assign(middleware, { gate, close: () => gate.close() });
}

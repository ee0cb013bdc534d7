import type { Context } from 'koa';
import { type KoaContext, KoaResponder } from '../doors/koa/responder.js';
import { type Gate, mount, NodeView, onNodeEnd, type RateLimitOptions, respond, type Verdict } from '../http/index.js';

export type { KoaContext } from '../doors/koa/responder.js';
export type { RateLimitOptions } from '../http/index.js';

/** Koa middleware that refuses requests over their limits. */
export interface RateLimitMiddleware<Ctx> {
  (ctx: Ctx, next: () => Promise<unknown>): Promise<unknown>;
  readonly gate: Gate<Ctx>;
  close(): Promise<void>;
}

/**
 * Makes the middleware: `app.use(rateLimit({ limits: tokenBucket({ ... }) }))`. Key, cost, count and allow functions
 * find Koa's context as `view.request`. Throws when an option is wrong.
 */
export function rateLimit<Ctx extends KoaContext = Context>(options: RateLimitOptions<Ctx>): RateLimitMiddleware<Ctx> {
  const { gate, check } = mount(options);
  const middleware = (ctx: Ctx, next: () => Promise<unknown>): Promise<unknown> => {
    const { req, originalUrl, _matchedRoute: route } = ctx;
    const view = new NodeView(req, ctx, originalUrl, typeof route === 'string' ? route : undefined);
    const verdict = check(ctx, view);
    return verdict instanceof Promise ? verdict.then((settled) => goOn(settled, ctx, next)) : goOn(verdict, ctx, next);
  };
  return Object.assign(middleware, { gate, close: () => gate.close() });
}

/** Without a promise of its own: one more for each request costs as much as the decision. */
function goOn(verdict: Verdict, ctx: KoaContext, next: () => Promise<unknown>): Promise<unknown> {
  onNodeEnd(ctx.req, ctx.res, verdict.finish);
  return respond(verdict, new KoaResponder(ctx)) ? next() : Promise.resolve();
}

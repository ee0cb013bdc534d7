import type { Context, Env, MiddlewareHandler } from 'hono';
import type { StatusCode } from 'hono/utils/http-status';
import {
  addressReader,
  answerWeb,
  applyFields,
  type ClientAddress,
  type Gate,
  hostContexts,
  joinedWith,
  keepAliveOf,
  mount,
  type RateLimitOptions,
  runtimeAddress,
  serverEnv,
  setByNode,
  stayAwake,
  type Verdict,
  WebView,
} from '../http/index.js';

export type { ClientAddress, Platform, RateLimitOptions } from '../http/index.js';

export type HonoOptions<E extends Env = Env> = RateLimitOptions<Context<E>> & {
  /** The ways of Node, Bun, Deno and Netlify are known; elsewhere name the platform, or say how. */
  readonly clientAddress?: ClientAddress<[context: Context<E>]>;
};

/** Hono middleware that refuses requests over their limits; `close` ends the gate. */
export type HonoRateLimit<E extends Env = Env> = MiddlewareHandler<E> & {
  readonly gate: Gate<Context<E>>;
  close(): Promise<void>;
};

/** Makes the middleware: `app.use(rateLimit({ limits: tokenBucket({ ... }) }))`. Throws when an option is wrong. */
export function rateLimit<E extends Env = Env>(options: HonoOptions<E>): HonoRateLimit<E> {
  const { clientAddress, ...others } = options;
  const { check, gate } = mount(others as RateLimitOptions<Context<E>>);
  const addressOf = addressReader(clientAddress, (context) => context.req.raw.headers, peerOf);
  const middleware: MiddlewareHandler<E> = async (context, next) => {
    const { raw } = context.req;
    const checked = check(context, new WebView(raw, addressOf(context), context, routeOf));
    const verdict = checked instanceof Promise ? await checked : checked;
    if (!verdict.allowed) return refusal(context, verdict);
    const { incoming: req, outgoing: res } = serverEnv(context.env);
    const awake = stayAwake(verdict, () => keepAliveOf(hostContexts(context)), gate);
    const left = setByNode(awake, raw, { req, res });
    const response = await answerWeb(raw, left, async () => {
      await next();
      return left === awake ? context.res : joinedWith(context.res, verdict);
    });
    if (response === context.res) return;
    // Setting it twice would set the older one's fields again.
    context.res = undefined;
    context.res = response;
  };
  return Object.assign(middleware, { gate, close: () => gate.close() });
}

/** Hono's own answer, with what others have set before, on Node's response too. */
function refusal(context: Context, verdict: Verdict): Response {
  const { outgoing } = serverEnv(context.env);
  applyFields(verdict, {
    get: (name) => context.res.headers.get(name) ?? outgoing?.getHeader?.(name),
    set: (name, value) => context.header(name, value),
  });
  return context.newResponse(verdict.body, verdict.status as StatusCode);
}

const peerOf = ({ env, req }: Context): string | undefined => runtimeAddress(req.raw, serverEnv(env));

/** Template of the handler, the last of what matches; the patterns of middleware are none. */
function routeOf({ req }: Context): string | undefined {
  const path = req.matchedRoutes.at(-1)?.path;
  return path === undefined || path.endsWith('*') ? undefined : path;
}

import { type Action, type ActionOptions, limitCalls } from '../doors/next/action.js';
import { rememberedPeer } from '../doors/next/peer-address.js';
import {
  addressReader,
  answerWeb,
  type ClientAddress,
  type Gate,
  keepAliveOf,
  mount,
  type RateLimitOptions,
  refuseUnsettled,
  stayAwake,
  WebView,
} from '../http/index.js';

export type { Action, ActionCall, ActionOptions } from '../doors/next/action.js';
export { type ActionRefusal, ActionRefusedError, refusalOf } from '../doors/next/action-refused.js';
export { rememberPeers } from '../doors/next/peer-address.js';
export type { ClientAddress, Platform, RateLimitOptions } from '../http/index.js';

/** What a `NextRequest` has beyond a web request, as far as key and cost functions mostly need it. */
export interface ProxyRequest extends Request {
  readonly nextUrl: URL;
  readonly cookies: { get(name: string): { readonly value: string } | undefined; has(name: string): boolean };
}

export type NextOptions<R extends Request> = RateLimitOptions<R> & {
  /** Next hides the socket: name the platform, say how, or call `rememberPeers` at start; see `docs/next.md`. */
  readonly clientAddress?: ClientAddress<[request: R]>;
};

/** A handler behind a gate; `close` ends the gate. */
export interface LimitedHandler<R extends Request, Rest extends readonly unknown[]> {
  (request: R, ...rest: Rest): Promise<Response>;
  readonly gate: Gate<R>;
  close(): Promise<void>;
}

/** Wraps a route handler: `export const GET = withRateLimit(handler, options)`. Throws when an option is wrong. */
export function withRateLimit<R extends Request, Rest extends readonly unknown[]>(
  handler: (request: R, ...rest: Rest) => Response | Promise<Response>,
  { clientAddress, ...options }: NextOptions<NoInfer<R>>,
): LimitedHandler<R, Rest> {
  const { check, gate } = mount(options as RateLimitOptions<R>);
  const addressOf = addressReader(clientAddress, ({ headers }) => headers, rememberedPeer);
  const handle = async (request: R, ...rest: Rest): Promise<Response> => {
    const verdict = await check(request, new WebView(request, addressOf(request)));
    return answerWeb(
      request,
      stayAwake(verdict, () => keepAliveOf(rest), gate),
      () => handler(request, ...rest),
    );
  };
  return Object.assign(handle, { gate, close: () => gate.close() });
}

/** For `proxy.ts`, alone or around a proxy of your own. Throws when an option is wrong, or needs a request's end. */
export function rateLimitProxy<R extends Request = ProxyRequest, Event = unknown>(
  options: NextOptions<R>,
  proxy?: (request: R, event: Event) => Response | null | undefined | Promise<Response | null | undefined>,
): LimitedHandler<R, [event: Event]> {
  refuseUnsettled(options, 'proxy.ts', 'wrap the route handler with withRateLimit instead');
  const goOn = (): Response => new Response(null, { headers: { 'x-middleware-next': '1' } }); // NextResponse.next()
  return withRateLimit(async (request: R, event: Event) => (await proxy?.(request, event)) ?? goOn(), options);
}

/** Wraps a server action and keeps its type. A refused call throws `ActionRefusedError`, unless `onDenied` answers. */
export function limitAction<Args extends readonly unknown[], Result, Denied = never>(
  action: (...args: Args) => Result | Promise<Result>,
  options: ActionOptions<Args, Denied>,
): Action<Args, Result | Awaited<Denied>> {
  return limitCalls(action, options, async () => (await import('next/headers.js')).headers());
}

import { answerWeb, mount, type RateLimitOptions, WebView } from '../http/index.js';

export type { RateLimitOptions } from '../http/index.js';

/** A request handler of Bun, Deno, Workers and other runtimes with web requests. */
export type FetchHandler<Rest extends readonly unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>;

/** Address of the socket's peer, read from what the runtime passes to a handler. */
export type ClientAddress<Rest extends readonly unknown[]> = (request: Request, ...rest: Rest) => string | undefined;

export type FetchOptions<Rest extends readonly unknown[]> = RateLimitOptions<Request> & {
  /** Bun's, Deno's and srvx's own ways are known; on other runtimes say how. */
  readonly clientAddress?: ClientAddress<Rest>;
};

/** Wraps a handler so that requests over their limits never reach it. Throws when an option is wrong. */
export function withRateLimit<Rest extends readonly unknown[]>(
  handler: FetchHandler<NoInfer<Rest>>,
  options: FetchOptions<Rest> & { readonly clientAddress: ClientAddress<Rest> },
): (request: Request, ...rest: Rest) => Promise<Response>;
export function withRateLimit<Rest extends readonly unknown[]>(
  handler: FetchHandler<Rest>,
  options: FetchOptions<Rest>,
): (request: Request, ...rest: Rest) => Promise<Response>;
export function withRateLimit<Rest extends readonly unknown[]>(
  handler: FetchHandler<Rest>,
  options: FetchOptions<Rest>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  const { clientAddress = runtimeAddress, ...others } = options;
  const { check } = mount(others as RateLimitOptions<Request>);
  return async (request, ...rest) => {
    const peerAddress = textOf(() => clientAddress(request, ...rest));
    const verdict = await check(request, new WebView(request, peerAddress));
    return answerWeb(request, verdict, () => handler(request, ...rest));
  };
}

/** What Deno and Bun pass beside the request; srvx sets `ip` on it. */
interface RuntimeContext {
  readonly remoteAddr?: { readonly hostname?: string };
  requestIP?(request: Request): { readonly address: string } | null;
}

function runtimeAddress(request: Request & { readonly ip?: string }, context?: unknown): string | undefined {
  const { remoteAddr, requestIP } = (context ?? {}) as RuntimeContext;
  return remoteAddr?.hostname ?? requestIP?.call(context, request)?.address ?? request.ip;
}

/** A function that fails must not fail the request: without an address the client counts as anonymous. */
function textOf(read: () => unknown): string | undefined {
  try {
    const value = read();
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

import {
  addressReader,
  answerWeb,
  type ClientAddress,
  type Gate,
  keepAliveOf,
  mount,
  type RateLimitOptions,
  runtimeAddress,
  stayAwake,
  WebView,
} from '../http/index.js';

export type { ClientAddress, Platform, RateLimitOptions } from '../http/index.js';

/** A request handler of Bun, Deno, Workers and other runtimes with web requests; Bun's may give none. */
export type FetchHandler<Rest extends readonly unknown[], Answer extends Response | undefined = Response> = (
  request: Request,
  ...rest: Rest
) => Answer | Promise<Answer>;

export type FetchOptions<Rest extends readonly unknown[]> = RateLimitOptions<Request> & {
  /** The ways of Bun, Deno, srvx and Netlify are known; elsewhere name the platform, or say how. */
  readonly clientAddress?: ClientAddress<[request: Request, ...rest: Rest]>;
};

/** A handler behind a gate; `close` ends the gate. */
export interface LimitedHandler<Rest extends readonly unknown[], Answer extends Response | undefined = Response> {
  (request: Request, ...rest: Rest): Promise<Answer | Response>;
  readonly gate: Gate<Request>;
  close(): Promise<void>;
}

/** Wraps a handler so that requests over their limits never reach it. Throws when an option is wrong. */
export function withRateLimit<Rest extends readonly unknown[], Answer extends Response | undefined = Response>(
  handler: FetchHandler<NoInfer<Rest>, Answer>,
  options: FetchOptions<Rest> & { readonly clientAddress: ClientAddress<[request: Request, ...rest: Rest]> },
): LimitedHandler<Rest, Answer>;
export function withRateLimit<Rest extends readonly unknown[], Answer extends Response | undefined = Response>(
  handler: FetchHandler<Rest, Answer>,
  options: FetchOptions<Rest>,
): LimitedHandler<Rest, Answer>;
export function withRateLimit<Rest extends readonly unknown[], Answer extends Response | undefined = Response>(
  handler: FetchHandler<Rest, Answer>,
  options: FetchOptions<Rest>,
): LimitedHandler<Rest, Answer> {
  const { clientAddress, ...others } = options;
  const { check, gate } = mount(others as RateLimitOptions<Request>);
  const addressOf = addressReader(clientAddress, (...[request]) => request.headers, runtimeAddress);
  const handle = async (request: Request, ...rest: Rest): Promise<Answer | Response> => {
    const verdict = await check(request, new WebView(request, addressOf(request, ...rest)));
    return answerWeb(
      request,
      stayAwake(verdict, () => keepAliveOf(rest), gate),
      () => handler(request, ...rest),
    );
  };
  return Object.assign(handle, { gate, close: () => gate.close() });
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  ComportaError,
  type Gate,
  mount,
  type NodeAnswer,
  type NodeRequest,
  NodeResponder,
  NodeView,
  onNodeEnd,
  type RateLimitOptions,
  respond,
  type Verdict,
} from '../http/index.js';

export type { RateLimitOptions } from '../http/index.js';

/** A listener behind a gate, for `createServer` of `node:http`, `node:https` and `node:http2`. */
export interface LimitedListener<Request, Response> {
  (request: Request, response: Response): void;
  readonly gate: Gate<Request>;
  /** Ends the gate; the server stays open. */
  close(): Promise<void>;
}

/**
 * Wraps a request listener so that requests over their limits never reach it:
 * `createServer(withRateLimit(listener, { limits: tokenBucket({ ... }) }))`. Throws when an option is wrong.
 */
export function withRateLimit<
  Request extends NodeRequest = IncomingMessage,
  Response extends NodeAnswer = ServerResponse,
>(
  listener: (request: Request, response: Response) => unknown,
  options: RateLimitOptions<NoInfer<Request>>,
): LimitedListener<Request, Response> {
  if (typeof listener !== 'function') {
    throw new ComportaError('ERR_OPTION', 'listener: expected a function (request, response)', 'listener');
  }
  const { gate, check } = mount<Request>(options);
  const limited = (request: Request, response: Response): void => {
    const verdict = check(request, new NodeView(request, request, request.url, undefined));
    const goOn = (settled: Verdict) => {
      onNodeEnd(request, response, settled.finish);
      if (respond(settled, new NodeResponder(response))) listener(request, response);
    };
    if (verdict instanceof Promise) void verdict.then(goOn);
    else goOn(verdict);
  };
  return Object.assign(limited, { gate, close: () => gate.close() });
}

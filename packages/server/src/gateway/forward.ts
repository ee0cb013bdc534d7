import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Field } from 'comporta/http';
import type { Dispatcher } from 'undici';
import { monotonicMs } from '../time.js';
import { answerFault } from './answer.js';
import { echo } from './echo.js';
import { Exchange } from './exchange.js';
import type { GatewayObserver } from './observer.js';
import type { Pools } from './pools.js';
import { faults, isFault } from './problems.js';
import { upstreamHeaders } from './request-headers.js';
import { forwardedTarget } from './routes.js';
import type { Site } from './site.js';
import { hasBody } from './target.js';
import type { UpstreamLog } from './upstream-log.js';

export interface Forwarder {
  readonly pools: Pools;
  /** How long a client may stop reading a response. */
  readonly stallMs: number;
  readonly isClosing: () => boolean;
  readonly failures: UpstreamLog;
  readonly observers: readonly GatewayObserver[];
}

/** Sends an admitted request to the upstream of its route. */
export function forward(
  forwarder: Forwarder,
  site: Site,
  request: IncomingMessage,
  response: ServerResponse,
  ours: readonly Field[],
): void {
  const { url = '/', headers } = request;
  const route = site.findRoute(headers.host ?? '', url);
  if (isFault(route)) return void answerFault(request, response, route, forwarder.isClosing());
  if (Number(headers['content-length']) > site.maxBodyBytes) {
    return void answerFault(request, response, faults.bodyTooLarge, forwarder.isClosing());
  }
  const { stallMs, isClosing, pools, failures, observers } = forwarder;
  const { upstream, timeoutMs } = route;
  if (upstream === 'echo') {
    return void echo(request, response, { headers: ours, timeoutMs, maxBytes: site.maxBodyBytes, isClosing });
  }
  const onFailure = (cause: string): void => failures.note(upstream, cause);
  const onAnswer = answerTimer(observers, upstream);
  const exchange = new Exchange({
    request,
    response,
    headers: ours,
    timeoutMs,
    stallMs,
    isClosing,
    onAnswer,
    onFailure,
  });
  const { isTrusted, clientHeader } = site;
  pools.of(upstream).dispatch(
    {
      path: forwardedTarget(route, url),
      method: request.method as Dispatcher.HttpMethod,
      headers: upstreamHeaders(request, {
        isTrusted: isTrusted(request.socket),
        clientHeader,
        preserveHost: route.preserveHost,
      }),
      body: hasBody(request) ? exchange.takeBody(site.maxBodyBytes) : null,
    },
    exchange,
  );
}

/** Measures from now to the upstream's answer, where somebody observes. */
function answerTimer(observers: readonly GatewayObserver[], upstream: string): () => void {
  if (observers.length === 0) return ignore;
  const startMs = monotonicMs();
  return () => {
    for (const observer of observers) observer.answered?.(upstream, monotonicMs() - startMs);
  };
}

function ignore(): void {}

import type { H3Event, Middleware } from 'h3';
import {
  addressReader,
  answerWeb,
  applyFields,
  type ClientAddress,
  doneByNode,
  type Gate,
  keepAliveOf,
  mount,
  type NodePair,
  type RateLimitOptions,
  runtimeAddress,
  stayAwake,
  type Verdict,
  WebView,
} from '../http/index.js';

export type { ClientAddress, Platform, RateLimitOptions } from '../http/index.js';

export type H3Options = RateLimitOptions<H3Event> & {
  /** The ways of Node, Bun and Deno are known; elsewhere name the platform, or say how. */
  readonly clientAddress?: ClientAddress<[event: H3Event]>;
};

/** h3 middleware that refuses requests over their limits; `close` ends the gate. */
export type H3RateLimit = Middleware & { readonly gate: Gate<H3Event>; close(): Promise<void> };

/** Makes the middleware: `app.use(rateLimit({ limits: tokenBucket({ ... }) }))`. Throws when an option is wrong. */
export function rateLimit(options: H3Options): H3RateLimit {
  const { clientAddress, ...others } = options;
  const { check, gate } = mount<H3Event>(others);
  const addressOf = addressReader(clientAddress, (event) => event.req.headers, peerOf);
  const middleware: Middleware = async (event, next) => {
    const { req, runtime } = event;
    const view = new WebView<H3Event>(req, addressOf(event), event, routeOf);
    const verdict = await check(event, view);
    const awake = stayAwake(verdict, () => keepAliveOf([req]), gate);
    const left = doneByNode(awake, req, runtime?.node as NodePair | undefined);
    setFields(event, left);
    if (!verdict.allowed) return new Response(verdict.body, { status: verdict.status });
    return left.finish === undefined ? next() : watched(event, left, next);
  };
  return Object.assign(middleware, { gate, close: () => gate.close() });
}

const routeOf = ({ context }: H3Event): string | undefined => context.matchedRoute?.route;

/** As h3's own `getRequestIP` reads it. */
const peerOf = ({ req }: H3Event): string | undefined => (req.context?.clientAddress as string) ?? runtimeAddress(req);

/** h3 keeps the fields of responses and of errors apart, and sets them on whatever is answered. */
function setFields({ res }: H3Event, verdict: Verdict): void {
  for (const fields of verdict.allowed ? [res.headers, res.errHeaders] : [res.errHeaders]) {
    applyFields(verdict, { get: (name) => fields.get(name), set: (name, value) => fields.set(name, value) });
  }
}

/** Passes on what the handler gave; a stream in a response whose end is told. */
async function watched(event: H3Event, verdict: Verdict, next: () => unknown): Promise<unknown> {
  let given: unknown;
  const response = await answerWeb(event.req, { ...verdict, headers: [] }, async () => {
    given = await next();
    return responseOf(given, event.res.status);
  });
  return response.body === null ? given : response;
}

/** h3's own mark of an answer with a body, a status and fields. */
const WRAPPED = Symbol.for('h3.HTTPResponse');

/** A stream as a response; of all else, which is sent at once, only the status. */
function responseOf(given: unknown, preset = 200): Response {
  if (given instanceof Response) return given;
  const isOwn = given instanceof Error || Object(given)[WRAPPED] === true;
  const own = (isOwn ? given : { body: given }) as { body?: unknown; status?: number; headers?: Headers };
  const status = own.status ?? (typeof given === 'symbol' ? 404 : preset);
  const init = { status: status >= 200 && status < 600 ? status : 200, headers: own.headers ?? {} };
  return new Response(own.body instanceof ReadableStream ? own.body : null, init);
}

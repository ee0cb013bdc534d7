import type { AnyElysia, Elysia } from 'elysia';
import {
  addressReader,
  answerWeb,
  type ClientAddress,
  ComportaError,
  type Gate,
  keepAliveOf,
  mount,
  type RateLimitOptions,
  runtimeAddress,
  stayAwake,
  WebView,
} from '../http/index.js';

export type { ClientAddress, Platform, RateLimitOptions } from '../http/index.js';

export type ElysiaOptions = RateLimitOptions<Request> & {
  /** The ways of Bun and srvx are known; elsewhere name the platform, or say how. */
  readonly clientAddress?: ClientAddress<[request: Request]>;
};

/** Elysia plugin that refuses requests over their limits; it ends the gate when the application stops. */
export interface ElysiaRateLimit {
  (app: AnyElysia): Elysia;
  readonly gate: Gate<Request>;
  close(): Promise<void>;
}

/** What Elysia answers a request with; nothing where Bun upgraded the connection. */
type Handle = (request: Request) => Response | undefined | Promise<Response | undefined>;

let made = 0;

/** Makes the plugin: `app.use(rateLimit({ limits: tokenBucket({ ... }) }))`. Throws when an option is wrong. */
export function rateLimit(options: ElysiaOptions): ElysiaRateLimit {
  const { clientAddress, ...others } = options;
  const { check, gate } = mount<Request>(others);
  const addressOf = addressReader<[request: Request, app: AnyElysia]>(clientAddress, ({ headers }) => headers, peerOf);
  const plugin = (app: AnyElysia): Elysia => {
    if (app.config.aot === false) throw NOT_COMPILED;
    // Around everything, since only here every response is seen, those of errors and streams included.
    const wrap = (handle: Handle) => async (request: Request) => {
      const verdict = await check(request, new WebView(request, addressOf(request, app)));
      return answerWeb(
        request,
        stayAwake(verdict, () => keepAliveOf([request]), gate),
        () => answerOf(handle, request, app),
      );
    };
    // Elysia takes wrappers of the same text for one, and would drop the second limiter of an application.
    const text = `comporta ${++made}`;
    app.wrap(Object.assign(wrap, { toString: () => text }) as never);
    return app.onStop(() => gate.close()) as Elysia;
  };
  return Object.assign(plugin, { gate, close: () => gate.close() });
}

/** The server is that of the outermost application: a part of it has none of its own. */
function peerOf(request: Request, app: AnyElysia): string | undefined {
  return runtimeAddress(request, (app as unknown as { getServer(): unknown }).getServer());
}

/** Elysia answers with an empty page after Bun upgraded the connection, whose peer Bun then no longer names. */
async function answerOf(handle: Handle, request: Request, app: AnyElysia): Promise<Response | undefined> {
  const peer = request.headers.has('upgrade') ? peerOf(request, app) : undefined;
  const response = await handle(request);
  return peer !== undefined && peerOf(request, app) === undefined ? undefined : response;
}

const NOT_COMPILED: ComportaError = new ComportaError(
  'ERR_OPTION',
  'aot: without it Elysia leaves out what is wrapped around it; wrap app.fetch with withRateLimit of comporta/fetch',
  'aot',
);

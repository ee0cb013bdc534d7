import { chunksOf, readText } from '../core/read-text.js';
import { BODY_MAX_BYTES } from '../stores/http-protocol.js';
import type { Store } from '../stores/store.js';
import { type ServeOptions, StoreService } from './serve.js';

/**
 * Serves a store at `/v1/store` to processes that use it by `httpStore()`: a handler of web requests, for every
 * server that has such. Whoever has a token may do with any subject what a limiter can. Throws `ERR_OPTION` for
 * wrong options; never on a request.
 */
export function serveStore(store: Store, options: ServeOptions): (request: Request) => Promise<Response> {
  const service = new StoreService(store, options);
  return async (request) => {
    const { status, headers, body } = await service.answer({
      method: request.method,
      path: new URL(request.url).pathname,
      authorization: request.headers.get('authorization') ?? undefined,
      body: () => readBody(request.headers.get('content-length') ?? undefined, chunksOf(request.body)),
    });
    return new Response(body, { status, headers });
  };
}

/** The parts of Node's `IncomingMessage` that are used. */
export interface StoreRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: { readonly authorization?: string | undefined; readonly 'content-length'?: string | undefined };
}

/** The parts of Node's `ServerResponse` that are used. */
export interface StoreResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body?: string): unknown;
}

/** As {@link serveStore}, as a listener of Node's `http.createServer`. */
export function storeListener(
  store: Store,
  options: ServeOptions,
): (request: StoreRequest, response: StoreResponse) => void {
  const service = new StoreService(store, options);
  return (request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const [path = '/'] = url.split('?', 1);
    const body = () => readBody(headers['content-length'], request);
    void service.answer({ method, path, authorization: headers.authorization, body }).then((answer) => {
      response.writeHead(answer.status, { ...answer.headers });
      response.end(answer.body);
    });
  };
}

/** Where a length is given that is too long nothing is read: who stops in the midst of a body ends the connection. */
async function readBody(length: string | undefined, chunks: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  return Number(length ?? 0) > BODY_MAX_BYTES ? undefined : readText(chunks, BODY_MAX_BYTES);
}

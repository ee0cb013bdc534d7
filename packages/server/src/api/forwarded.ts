import type { IncomingMessage } from 'node:http';
import type { RequestView } from 'comporta/http';
import { Refusal } from './problem.js';

/** How a proxy tells of the request that it asks about, and what it does with a refusal. */
export interface ProxyKind {
  readonly method: string;
  readonly uri: string;
  /** Where the host is that the client asked for. */
  readonly host: string;
  /** All refusals get this status, as the proxy passes no other on. */
  readonly refusedAs: number | undefined;
}

/**
 * One kind reads one set of headers and no other: proxies pass on what clients send in the headers that they do not
 * write themselves.
 */
export const proxyKinds: Readonly<Record<'forwarded' | 'nginx', ProxyKind>> = {
  forwarded: { method: 'x-forwarded-method', uri: 'x-forwarded-uri', host: 'x-forwarded-host', refusedAs: undefined },
  nginx: { method: 'x-original-method', uri: 'x-original-uri', host: 'host', refusedAs: 403 },
};

/** The request that a proxy asks about, as the gate sees requests; throws a {@link Refusal} when it is not told. */
export function forwardedView(request: IncomingMessage, kind: ProxyKind): RequestView<IncomingMessage> {
  const method = only(request, kind.method);
  const url = only(request, kind.uri);
  const host = only(request, kind.host);
  if (!/^[A-Z][A-Z-]{0,31}$/.test(method)) throw bad(kind.method, 'a method such as GET');
  if (!url.startsWith('/')) throw bad(kind.uri, 'a path that starts with "/"');
  return {
    method,
    url,
    route: undefined,
    peerAddress: request.socket.remoteAddress,
    request,
    header: (name) => (name === 'host' ? [host] : (request.headersDistinct[name] ?? [])),
  };
}

/** Two values would leave it to chance which of them is the client's own. */
function only(request: IncomingMessage, name: string): string {
  const [value, ...more] = request.headersDistinct[name] ?? [];
  if (value !== undefined && more.length === 0) return value;
  throw new Refusal(400, `The proxy must send ${name} exactly once.`, { field: name });
}

const bad = (name: string, expected: string): Refusal =>
  new Refusal(400, `The proxy must send ${expected} as ${name}.`, { field: name });

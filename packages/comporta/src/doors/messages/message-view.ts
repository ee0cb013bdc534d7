import type { RequestView } from '../../identity/view.js';

/** Reads all values of a header or of what a protocol has in its place; names are lower case. */
export type ReadHeader = (name: string) => readonly string[];

/** A view of one call of a remote procedure, or of one message: always POST, and its name is the path. */
export class MessageView<Request> implements RequestView<Request> {
  readonly method: string = 'POST';
  readonly request: Request;
  readonly url: string;
  readonly route: string;
  readonly peerAddress: string | undefined;
  readonly header: ReadHeader;

  constructor(request: Request, path: string, peerAddress: string | undefined, header: ReadHeader) {
    this.request = request;
    this.url = path;
    this.route = path;
    this.peerAddress = peerAddress;
    this.header = header;
  }
}

/** Header fields as Node or the web standard hold them, in anything else none. */
export function headerReader(headers: unknown): ReadHeader {
  if (typeof headers !== 'object' || headers === null) return () => [];
  if (headers instanceof Headers) return (name) => valuesOf(headers.get(name));
  const fields = headers as Readonly<Record<string, unknown>>;
  return (name) => (Object.hasOwn(fields, name) ? valuesOf(fields[name]) : []);
}

function valuesOf(value: unknown): readonly string[] {
  return [value].flat().filter((part) => typeof part === 'string');
}

/**
 * The address in what gRPC calls a peer: `ipv4:1.2.3.4:50`, `ipv6:[::1]:50`, and `1.2.3.4:50` or `::1:50` as
 * Node's server writes them; `undefined` for unix sockets and unknown peers.
 */
export function hostOfPeer(peer: unknown): string | undefined {
  if (typeof peer !== 'string' || peer === 'unknown' || /^(?:unix|vsock|dns)/.test(peer)) return undefined;
  const bare = decoded(peer.replace(/^ipv[46]:/, ''));
  const [, bracketed] = /^\[(.*)\](?::\d+)?$/.exec(bare) ?? [];
  return (bracketed ?? bare.replace(/:\d+$/, '')) || undefined;
}

function decoded(text: string): string {
  return text.replaceAll('%5B', '[').replaceAll('%5D', ']').replaceAll('%25', '%');
}

import type { RequestView } from '../identity/view.js';

/** The parts of a Node request that are read; framework requests and test doubles may lack some. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly socket?: NodeSocket | null;
}

export interface NodeSocket {
  readonly remoteAddress?: string | undefined;
  readonly destroyed?: boolean;
  once?(name: 'close', listener: () => void): unknown;
}

/** A view of a Node request; `request` is what key and cost functions get. */
export class NodeView<Request> implements RequestView<Request> {
  readonly request: Request;
  readonly url: string;
  readonly route: string | undefined;
  readonly #raw: NodeRequest;

  constructor(raw: NodeRequest, request: Request, url: string | undefined, route: string | undefined) {
    this.#raw = raw;
    this.request = request;
    this.url = url ?? '/';
    this.route = route;
  }

  get method(): string {
    return this.#raw.method ?? 'GET';
  }

  get peerAddress(): string | undefined {
    return this.#raw.socket?.remoteAddress;
  }

  /** Node joins the lines of list headers in order, which is all that readers need. */
  header(name: string): readonly string[] {
    const value = this.#raw.headers[name];
    return value === undefined ? [] : typeof value === 'string' ? [value] : value;
  }
}

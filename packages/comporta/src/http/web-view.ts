import type { RequestView } from '../identity/view.js';

/** A view of a web-standard request; `own` is what key and cost functions get where a framework has its own. */
export class WebView<Own = Request> implements RequestView<Own> {
  readonly request: Own;
  readonly peerAddress: string | undefined;
  readonly #web: Request;
  readonly #routeOf: ((own: Own) => string | undefined) | undefined;

  constructor(web: Request, peerAddress: string | undefined, own?: Own, routeOf?: (own: Own) => string | undefined) {
    this.#web = web;
    this.request = own ?? (web as Own);
    this.peerAddress = peerAddress;
    this.#routeOf = routeOf;
  }

  get route(): string | undefined {
    return this.#routeOf?.(this.request);
  }

  get method(): string {
    return this.#web.method;
  }

  get url(): string {
    return this.#web.url;
  }

  /** The runtime joins the lines of a header in order. Some move Host into the URL. */
  header(name: string): readonly string[] {
    const value = this.#web.headers.get(name) ?? (name === 'host' ? new URL(this.#web.url).host : null);
    return value === null ? [] : [value];
  }
}

import type { RequestView } from '../identity/view.js';

/** A view of a web-standard request. */
export class WebView implements RequestView<Request> {
  readonly request: Request;
  readonly peerAddress: string | undefined;
  readonly route: undefined = undefined;

  constructor(request: Request, peerAddress: string | undefined) {
    this.request = request;
    this.peerAddress = peerAddress;
  }

  get method(): string {
    return this.request.method;
  }

  get url(): string {
    return this.request.url;
  }

  /** The runtime joins the lines of a header in order. Some move Host into the URL. */
  header(name: string): readonly string[] {
    const value = this.request.headers.get(name) ?? (name === 'host' ? new URL(this.request.url).host : null);
    return value === null ? [] : [value];
  }
}

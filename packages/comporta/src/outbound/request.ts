/** What a subject or cost function sees of a request that is to be sent. */
export interface OutboundRequest {
  /** In capitals. */
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
}

/** What `fetch` takes first. */
export type FetchInput = string | URL | Request;

const isRequest = (input: FetchInput): input is Request => typeof input === 'object' && 'url' in input;

/** Rejects what `fetch` would reject: a URL that cannot be read is a `TypeError`. */
export function describeRequest(input: FetchInput, init: RequestInit | undefined): OutboundRequest {
  const request = isRequest(input) ? input : undefined;
  return {
    method: (init?.method ?? request?.method ?? 'GET').toUpperCase(),
    url: new URL(isRequest(input) ? input.url : input),
    headers: new Headers(init?.headers ?? request?.headers),
  };
}

/** The signal that `fetch` itself would follow. */
export function signalOf(input: FetchInput, init: RequestInit | undefined): AbortSignal | undefined {
  const given = init?.signal;
  return (given === undefined && isRequest(input) ? input.signal : given) ?? undefined;
}

const REPLAYABLE = ['ArrayBuffer', 'SharedArrayBuffer', 'Blob', 'File', 'FormData', 'URLSearchParams'];
const TAGS: ReadonlySet<string> = new Set(REPLAYABLE.map((name) => `[object ${name}]`));

/** Whether the body can be sent a second time. A stream cannot, and the body of a `Request` is one. */
export function isReplayable(input: FetchInput, init: RequestInit | undefined): boolean {
  const body: unknown = init?.body ?? (isRequest(input) ? input.body : null) ?? null;
  if (body === null || typeof body === 'string' || ArrayBuffer.isView(body)) return true;
  return TAGS.has(Object.prototype.toString.call(body));
}

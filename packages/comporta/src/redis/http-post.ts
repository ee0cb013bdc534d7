import { ComportaError, show } from '../core/errors.js';
import { chunksOf, readText } from '../core/read-text.js';
import type { Clock } from '../core/time.js';
import { StoreError } from '../core/waiting.js';

/** The part of `fetch` that is used here; every runtime has it. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface PostOptions {
  readonly url: URL;
  readonly token: string;
  readonly fetch: Fetch;
  readonly clock: Clock;
}

/** What came back: any status, and a body that was JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Longest answer that is read: so much, and more for each call that was asked. */
const ANSWER_BYTES = 64 * 1024;
const ANSWER_BYTES_PER_CALL = 4 * 1024;

/** Codes by which runtimes say that there was no connection to send anything on. */
const UNSENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$/;

/** Posts texts of JSON to one server, each once. Whatever fails is a {@link StoreError} that names no secret. */
export class Poster {
  readonly #options: PostOptions;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #inFlight: Set<AbortController> = new Set();

  constructor(options: PostOptions) {
    this.#options = options;
    this.#headers = { authorization: `Bearer ${options.token}`, 'content-type': 'application/json' };
  }

  get host(): string {
    return this.#options.url.host;
  }

  /** With `calls` in it. Rejects after `timeoutMs`, and then the request is given up, whether it was seen or not. */
  post(path: string, body: string, timeoutMs: number, calls: number): Promise<Answer> {
    const abort = new AbortController();
    this.#inFlight.add(abort);
    return new Promise<Answer>((resolve, reject) => {
      const stopTimer = this.#options.clock.startTimer(timeoutMs, () => {
        reject(new StoreError('timeout', `no answer within ${timeoutMs} ms`));
        abort.abort();
      });
      this.#exchange(path, body, abort.signal, ANSWER_BYTES + calls * ANSWER_BYTES_PER_CALL)
        .then(resolve, (error) => reject(this.#failure(error)))
        .finally(() => {
          stopTimer();
          this.#inFlight.delete(abort);
        });
    });
  }

  /** Gives up what is under way. */
  close(): void {
    for (const abort of this.#inFlight) abort.abort();
  }

  async #exchange(path: string, body: string, signal: AbortSignal, maxBytes: number): Promise<Answer> {
    const { url, fetch } = this.#options;
    const to = `${url.origin}${url.pathname.replace(/\/+$/, '')}${path}`;
    // Redirects are not followed: a command would be sent twice, and the token to whoever is named.
    const response = await fetch(to, { method: 'POST', headers: this.#headers, body, signal, redirect: 'manual' });
    return { status: response.status, body: this.#parse(response, await textOf(response, maxBytes)) };
  }

  #parse({ ok, status }: Response, text: string): unknown {
    try {
      return JSON.parse(ok ? text : this.redact(text));
    } catch {
      throw (
        statusError(status) ?? new StoreError('unavailable', `HTTP ${status} without JSON: ${show(this.redact(text))}`)
      );
    }
  }

  /** Some servers repeat in a failure what they were sent: without the token. */
  redact(text: string): string {
    return text.replaceAll(this.#options.token, '[token]');
  }

  #failure(error: unknown): StoreError {
    if (error instanceof StoreError) return error;
    const { message = String(error), cause } = error as {
      message?: string;
      cause?: { code?: string; message?: string };
    };
    const why = cause?.message ? `${message}: ${cause.message}` : message;
    const isUnsent = UNSENT.test(String(cause?.code ?? (error as { code?: string })?.code));
    return new StoreError('unavailable', this.redact(why), { isUnsent });
  }
}

async function textOf(response: Response, maxBytes: number): Promise<string> {
  const text = await readText(chunksOf(response.body), maxBytes);
  if (text !== undefined) return text;
  throw new StoreError('unavailable', `the answer is longer than ${maxBytes} bytes`);
}

/** Of the words of a server, in characters. */
const WHY_LENGTH_MAX = 300;

const UNREAD = { isUnsent: true };

/** What a status other than success means, in words of our own; `why` is the server's, if it gave any. */
export function statusError(status: number, why?: string): StoreError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const about = why === undefined ? `HTTP ${status}` : `HTTP ${status}: ${why.slice(0, WHY_LENGTH_MAX)}`;
  if (status === 401 || status === 403)
    return new StoreError('misconfigured', `the token was refused (${about})`, UNREAD);
  if (status === 429) return new StoreError('unavailable', `too many requests (${about})`, UNREAD);
  if (status >= 500) return new StoreError('unavailable', `the server failed (${about})`);
  if (status < 400) return new StoreError('misconfigured', `the server redirects (${about}); give its own URL`, UNREAD);
  return new StoreError('misconfigured', `the server takes no such request (${about}); is the URL right?`, UNREAD);
}

/** Throws `ERR_OPTION` unless a URL and a token can be meant. */
export function checkAddress(maker: string, url: unknown, token: unknown): URL {
  const refuse = (field: string, message: string): never => {
    throw new ComportaError('ERR_OPTION', `${maker}: ${field}: ${message}`, field);
  };
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    return refuse('url', `expected an https:// URL, got ${show(withoutLogin(url))}`);
  }
  if (parsed.username !== '' || parsed.password !== '') {
    return refuse('url', 'must hold no user and no password; give the token as an option');
  }
  if (parsed.search !== '' || parsed.hash !== '') return refuse('url', 'must have no query and no fragment');
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    return refuse('token', `expected a text without spaces, got ${token === '' ? 'an empty one' : typeof token}`);
  }
  return parsed;
}

const withoutLogin = (url: unknown): unknown => (typeof url === 'string' ? url.replace(/\/\/[^/@]*@/, '//…@') : url);

/** Options that both stores over HTTP have. */
export interface HttpOptions {
  /** In place of the platform's own. */
  readonly fetch?: Fetch;
  /**
   * Calls of one tick travel in one request. True by default, but false on Workers and other runtimes that keep
   * requests apart: there it may be true only for a store that is made anew for each request.
   */
  readonly batch?: boolean;
}

/** `fetch` of the platform, looked up at each call: tests and runtimes put their own in its place. */
export const platformFetch: Fetch = (url, init) => fetch(url, init);

/** Throws `ERR_OPTION` for options that cannot be meant. */
export function checkHttpOptions(maker: string, { fetch, batch }: HttpOptions): void {
  const refuse = (field: string, expected: string, given: unknown): never => {
    throw new ComportaError('ERR_OPTION', `${maker}: ${field}: expected ${expected}, got ${show(given)}`, field);
  };
  if (fetch !== undefined && typeof fetch !== 'function') refuse('fetch', 'a function like fetch', fetch);
  if (batch !== undefined && typeof batch !== 'boolean') refuse('batch', 'true or false', batch);
}

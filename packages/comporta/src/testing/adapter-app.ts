import type { RateLimitOptions } from '../http/mount.js';
import type { Store } from '../stores/store.js';

/** What the application behind the adapter answers with. */
export interface SuiteAnswer {
  readonly status: number;
  readonly body: string;
  /** Send the body as a first part, and do not end the response until the client has gone. */
  readonly isEndless: boolean;
}

/** An application that listens. */
export interface StartedApp {
  /** Without a path: `http://127.0.0.1:3000`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts an application on a free port with the adapter, made with `options`, before everything. It asks
 * `answer`, with the path of the request, once for each request that the adapter lets through, any method.
 * Rejects with what the adapter throws.
 */
export type StartApp = (options: RateLimitOptions, answer: (path: string) => SuiteAnswer) => Promise<StartedApp>;

/** One thing that an adapter must do. */
export interface AdapterCase {
  /** A sentence, unique in the suite. */
  readonly name: string;
  /** Needs an answer in parts: to be left out where answers only go out as a whole, as from functions. */
  readonly isStreamed?: true;
  /** Rejects with an `AssertionError` where the adapter does otherwise. */
  run(start: StartApp): Promise<void>;
}

/** What came back. */
interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** The application of one case, as its clients see it. */
export interface App {
  ask(path?: string, init?: RequestInit): Promise<Received>;
  /** Sends a request and leaves the response to the caller. */
  open(path: string, init?: RequestInit): Promise<Response>;
  /** How many requests got through. */
  readonly reached: number;
}

export const HELLO = 'hello';

/** `/status/404` answers 404, `/endless` never ends, everything else is well. */
function answerTo(path: string): SuiteAnswer {
  const [, status] = /^\/status\/(\d{3})$/.exec(path) ?? [];
  return { status: Number(status ?? 200), body: HELLO, isEndless: path === '/endless' };
}

/** The name that the only policy of a case has. */
export const POLICY = 'suite';

/** Options of one policy; all that a case may set. */
export type CaseOptions = { readonly store: Store } & Omit<Exclude<RateLimitOptions, { policies: unknown }>, 'name'>;

/** Starts an application, lets a case use it, and ends it whatever became of that. */
export async function withApp(start: StartApp, options: CaseOptions, use: (app: App) => Promise<void>): Promise<void> {
  let reached = 0;
  const started = await start({ name: POLICY, ...options }, (path) => {
    reached++;
    return answerTo(path);
  });
  const open = (path: string, init?: RequestInit): Promise<Response> => fetch(started.url + path, init);
  try {
    await use({
      open,
      ask: async (path = '/', init) => {
        const response = await open(path, init);
        return { status: response.status, headers: response.headers, body: await response.text() };
      },
      get reached() {
        return reached;
      },
    });
  } finally {
    await started.close();
  }
}

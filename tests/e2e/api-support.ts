import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { type App, startApp } from '../../packages/server/src/app.js';
import { configOf, onCleanup, recordLog } from './gateway-support.js';

export const TOKEN = 'an-api-token-of-the-tests';
export const STORE_TOKEN = 'a-store-token-of-the-tests';

/** A policy whose key is a header; admits ten at once. */
const perKey = {
  name: 'per-key',
  key: 'header:x-api-key',
  limits: { tokenBucket: { capacity: 10, refill: 10, every: '1d' } },
};

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; `undefined` when it is none. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Sent as it is; other values as JSON. */
  readonly body?: string | Uint8Array;
  /** Send the body in chunks, without its length. */
  readonly isChunked?: boolean;
}

/** One request on a connection of its own. */
export function ask(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body, isChunked }: Ask = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined || isChunked === true ? {} : { 'content-length': Buffer.byteLength(body) };
    const sent = { ...length, ...headers } as Record<string, string | string[]>;
    const request = httpRequest({ host: '127.0.0.1', port, path, method, headers: sent, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) });
      });
    });
    request.on('error', reject);
    if (body !== undefined) request.write(body);
    request.end();
  });
}

function parsed(text: string): Answer['json'] {
  try {
    return JSON.parse(text) as Answer['json'];
  } catch {
    return undefined;
  }
}

export interface RunningApi {
  readonly app: App;
  readonly port: number;
  readonly lines: readonly string[];
  /** Posts JSON with the token of the tests. */
  post(path: string, body: unknown, headers?: Ask['headers']): Promise<Answer>;
  ask(path: string, given?: Ask): Promise<Answer>;
}

/** A process with an API on a free port; `api` adds to its section, `rest` to the file. */
export async function startApi(api: object = {}, rest: object = {}): Promise<RunningApi> {
  const { log, lines } = recordLog();
  const app = await startApp(configOf(apiFile(api, rest)), log);
  onCleanup(() => app.stop());
  return running(app, lines);
}

export const apiFile = (api: object = {}, rest: object = {}): object => ({
  policies: [perKey],
  api: { listen: '127.0.0.1:0', tokens: TOKEN, ...api },
  ...rest,
});

export function running(app: App, lines: readonly string[]): RunningApi {
  const port = app.api?.port ?? 0;
  return {
    app,
    port,
    lines,
    post: (path, body, headers) => post(port, path, body, headers),
    ask: (path, given) => ask(port, path, given),
  };
}

function post(port: number, path: string, body: unknown, headers: Ask['headers'] = {}): Promise<Answer> {
  const all = { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}`, ...headers };
  return ask(port, path, { method: 'POST', headers: all, body: JSON.stringify(body) });
}

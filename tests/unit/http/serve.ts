import { once } from 'node:events';
import { createServer, type RequestListener, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { StartedApp } from 'comporta/testing';
import { onTestFinished } from 'vitest';

/** What came over the wire, read by Node's own client; names as they were sent. */
export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Starts a server on a free port of 127.0.0.1 for the length of a test. */
export async function serve(listener: RequestListener): Promise<number> {
  const server = await listen(listener);
  onTestFinished(() => closeServer(server));
  return portOf({ server });
}

/** Starts a server on a free port of 127.0.0.1. */
export async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

export async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

/** A listener on a server of its own, as the published suite takes it. */
export async function started(listener: RequestListener): Promise<StartedApp> {
  const server = await listen(listener);
  return { url: `http://127.0.0.1:${portOf({ server })}`, close: () => closeServer(server) };
}

/** Port that an application listens on. */
export function portOf(app: { readonly server: Pick<Server, 'address'> }): number {
  return (app.server.address() as AddressInfo).port;
}

/** One request on a connection of its own. */
export async function send(
  port: number,
  path = '/',
  { method = 'GET', headers = {} }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Received> {
  const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }).end();
  const [response] = await once(sent, 'response');
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk;
  const raw: readonly string[] = response.rawHeaders;
  const names = raw.filter((_, i) => i % 2 === 0);
  return {
    status: response.statusCode,
    headers: Object.fromEntries(names.map((name, i) => [name, raw[i * 2 + 1] ?? ''])),
    body,
  };
}

/** Serves a web handler with Node, passing the peer's address beside the request. */
export function webListener(
  handler: (request: Request, peer: string | undefined) => Promise<Response>,
): RequestListener {
  return async (incoming, outgoing) => {
    const headers = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    const init = { method: incoming.method ?? 'GET', headers };
    const response = await handler(new Request(`http://127.0.0.1${incoming.url}`, init), incoming.socket.remoteAddress);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    const body = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body as never);
    outgoing.once('close', () => body.destroy());
    body.on('error', () => undefined).pipe(outgoing);
  };
}

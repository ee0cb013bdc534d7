import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach } from 'vitest';
import { type App, startApp } from '../../packages/server/src/app.js';
import type { ServerConfig } from '../../packages/server/src/config/config.js';
import { loadConfig } from '../../packages/server/src/config/load.js';
import type { Log } from '../../packages/server/src/log.js';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Runs after the test, last added first. */
export function onCleanup(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

export interface Logged {
  readonly log: Log;
  readonly lines: string[];
}

export function recordLog(): Logged {
  const lines: string[] = [];
  const add =
    (level: string) =>
    (message: string, fields = {}) =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  return { log: { info: add('info'), warn: add('warn'), error: add('error') }, lines };
}

export function configOf(file: object): ServerConfig {
  const loaded = loadConfig(JSON.stringify(file), {});
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

/** A file with one gateway on a free port; `gateway` adds to its section, `rest` to the file. Ends fast. */
export function gatewayFile(upstream: string, gateway: object = {}, rest: object = {}): object {
  return {
    gateway: { listen: '127.0.0.1:0', routes: [{ path: '/', upstream }], drainTime: '50ms', ...gateway },
    ...rest,
  };
}

export interface Running {
  readonly app: App;
  readonly port: number;
  readonly origin: string;
  readonly lines: readonly string[];
}

export async function startGateway(file: object): Promise<Running> {
  const { log, lines } = recordLog();
  const app = await startApp(configOf(file), log);
  onCleanup(() => app.stop());
  const port = app.gateway?.port ?? 0;
  return { app, port, origin: `http://127.0.0.1:${port}`, lines };
}

export interface Upstream {
  readonly server: Server;
  readonly origin: string;
  readonly requests: IncomingMessage[];
}

/** A real upstream; it remembers every request that reached it. */
export async function startUpstream(
  handle: RequestListener = (_, response) => void response.end('ok'),
): Promise<Upstream> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    requests.push(request);
    handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onCleanup(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** A bare connection, for what no HTTP client would send. Collects what comes back. */
export async function openSocket(port: number): Promise<{ readonly socket: Socket; received(): string }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  onCleanup(() => socket.destroy());
  return { socket, received: () => text };
}

/** Sends bytes and waits for the other side to end the connection. */
export async function exchangeRaw(port: number, bytes: string): Promise<string> {
  const { socket, received } = await openSocket(port);
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return received();
}

/** Waits until something holds; fails with its name after a while. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, limitMs = 10_000): Promise<void> {
  const endMs = Date.now() + limitMs;
  while (!(await holds())) {
    if (Date.now() > endMs) throw new Error(`waited ${limitMs} ms for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Admits so many requests and then, for a day, none. */
export function policyOf(limit: number, more: object = {}): object {
  return {
    name: 'per-client',
    key: 'ip',
    limits: { fixedWindow: { limit, window: '1d', align: 'first-hit' } },
    ...more,
  };
}

import { type ClientRequest, type IncomingMessage, request as requestHttp, ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Verdict } from 'comporta/http';
import { RESPONSE_HEADERS_MAX_BYTES } from './pools.js';
import { type Fault, faults, isFault } from './problems.js';
import { rawHead, rawResponse } from './raw.js';
import { upstreamHeaders } from './request-headers.js';
import { appendOurs, clientHeaders } from './response-headers.js';
import { forwardedTarget, type Route } from './routes.js';
import type { Site } from './site.js';
import { hasBody } from './target.js';
import { causeOf, type UpstreamLog } from './upstream-log.js';

const KEEP_ALIVE_MS = 60_000;

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * WebSocket handshakes. The tunnel opens only after the upstream's own 101: any other answer is
 * relayed and ends the connection, so that no later request slips through a tunnel unseen.
 */
export class Upgrades {
  readonly #sockets: Set<Duplex> = new Set();
  /** Statuses that were sent. */
  readonly #statuses: WeakMap<Duplex, number> = new WeakMap();
  readonly #failures: UpstreamLog;

  constructor(failures: UpstreamLog) {
    this.#failures = failures;
  }

  isWebSocket({ headers }: IncomingMessage): boolean {
    return headers.upgrade?.toLowerCase() === 'websocket';
  }

  faultOf(request: IncomingMessage): Fault | undefined {
    return request.method === 'GET' && !hasBody(request) ? undefined : faults.badUpgrade;
  }

  /** Other protocols, such as h2c, would carry requests past the gate: the offer is ignored, as a server may. */
  serveWithout(request: IncomingMessage, socket: Duplex, handle: Handle): void {
    if (hasBody(request)) return void this.refuse(socket, faults.badSyntax);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    this.#track(socket);
    // Node no longer looks after this socket, and the client may never close its own side.
    response.on('finish', () => (socket as Socket).destroySoon());
    socket.on('drain', () => response.emit('drain'));
    handle(request, response);
  }

  refuse(socket: Duplex, { status, body }: Fault): void {
    socket.on('error', ignore);
    this.#answer(socket, status, ['content-type', 'application/problem+json', 'cache-control', 'no-store'], body);
  }

  follow(verdict: Verdict, site: Site, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#onEnd(socket, verdict.finish);
    if (socket.destroyed) return;
    const isCrossOrigin = request.headers.origin !== undefined;
    if (!verdict.allowed) {
      const headers: string[] = [];
      appendOurs(headers, verdict.headers, isCrossOrigin);
      return void this.#answer(socket, verdict.status, headers, verdict.body);
    }
    const route = site.findRoute(request.headers.host ?? '', request.url ?? '/');
    if (isFault(route)) return void this.refuse(socket, route);
    if (route.upstream === 'echo') return void this.refuse(socket, faults.noUpgrade);
    this.#connect(route, site, request, socket, head, verdict);
  }

  /** A tunnel ends with its connection; without a status the client went away first. */
  #onEnd(socket: Duplex, finish: Verdict['finish']): void {
    if (finish === undefined) return;
    const end = (): void => {
      const status = this.statusOf(socket);
      finish({ status, aborted: status === 0 });
    };
    if (socket.destroyed) end();
    else socket.once('close', end);
  }

  /** The status that was sent on a connection; 0 before one was. */
  statusOf(socket: Duplex): number {
    return this.#statuses.get(socket) ?? 0;
  }

  /** Cuts every tunnel and handshake. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect(route: Route, site: Site, request: IncomingMessage, socket: Duplex, head: Buffer, verdict: Verdict): void {
    this.#track(socket);
    const upstream = openHandshake(route, site, request);
    // Bytes are bounded; a bound on their number would drop headers without a word.
    upstream.maxHeadersCount = 0;
    let isAnswered = false;
    let isTunnel = false;
    upstream.on('upgrade', (response, peer, firstBytes) => {
      isAnswered = true;
      isTunnel = true;
      this.#statuses.set(socket, 101);
      this.#track(peer);
      const list = clientHeaders(response.headers, verdict.headers, request.headers.origin !== undefined);
      list.push('connection', 'Upgrade', 'upgrade', response.headers.upgrade ?? 'websocket');
      socket.write(rawHead(101, 'Switching Protocols', list), 'latin1');
      if (firstBytes.length > 0) socket.write(firstBytes);
      if (head.length > 0) peer.write(head);
      tunnel(socket as Socket, peer as Socket);
    });
    upstream.on('response', (response) => {
      isAnswered = true;
      const { statusCode = 502 } = response;
      this.#statuses.set(socket, statusCode);
      const list = clientHeaders(response.headers, verdict.headers, request.headers.origin !== undefined);
      socket.write(rawHead(statusCode, response.statusMessage ?? '', [...list, 'connection', 'close']), 'latin1');
      response.on('error', () => socket.destroy());
      response.pipe(socket);
    });
    upstream.on('timeout', () => {
      if (!isAnswered) {
        this.#failures.note(route.upstream, 'no answer in time');
        this.refuse(socket, faults.slowUpstream);
      }
      isAnswered = true;
      upstream.destroy();
    });
    upstream.on('error', (error) => {
      if (isAnswered || socket.destroyed) return void socket.destroy();
      this.#failures.note(route.upstream, causeOf(error));
      this.refuse(socket, faults.badUpstream);
    });
    // A tunnel ends both its sides by itself, after what is still to be written.
    socket.on('close', () => void (!isTunnel && upstream.destroy()));
    upstream.end();
  }

  #answer(socket: Duplex, status: number, headers: readonly string[], body: string): void {
    this.#track(socket);
    this.#statuses.set(socket, status);
    socket.end(rawResponse(status, headers, body), () => socket.destroy());
  }

  #track(socket: Duplex): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

function openHandshake(route: Route, site: Site, request: IncomingMessage): ClientRequest {
  const { isTrusted, clientHeader } = site;
  const origin = new URL(route.upstream);
  const forwarding = { isTrusted: isTrusted(request.socket), clientHeader, preserveHost: route.preserveHost };
  const headers = upstreamHeaders(request, forwarding);
  if (!route.preserveHost) headers.push('host', origin.host);
  headers.push('connection', 'Upgrade', 'upgrade', 'websocket');
  const open = origin.protocol === 'https:' ? requestHttps : requestHttp;
  return open(origin, {
    path: forwardedTarget(route, request.url ?? '/'),
    headers,
    agent: false,
    maxHeaderSize: RESPONSE_HEADERS_MAX_BYTES,
    timeout: route.timeoutMs,
  });
}

/** Bytes both ways with back-pressure; the end of one side ends the other. */
function tunnel(client: Socket, upstream: Socket): void {
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.setTimeout(0);
    from.setNoDelay(true);
    // Tunnels may be silent for hours; a peer that is gone without a word is found by the system.
    from.setKeepAlive(true, KEEP_ALIVE_MS);
    from.on('error', ignore);
    // WebSockets know no half-closed state: the end of either side is the end of both.
    from.on('end', () => to.destroySoon());
    from.on('close', () => to.destroySoon());
    from.pipe(to);
  }
}

function ignore(): void {}

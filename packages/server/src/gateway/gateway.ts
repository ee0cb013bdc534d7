import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { onNodeEnd, type Verdict } from 'comporta/http';
import type { GatewayConfig } from '../config/types.js';
import { answer, answerFault } from './answer.js';
import { answerBadRequest } from './bad-request.js';
import { decide } from './decide.js';
import { type Drain, drainServer } from './drain.js';
import { type Forwarder, forward } from './forward.js';
import type { GatewayObserver } from './observer.js';
import { Pools } from './pools.js';
import { faults } from './problems.js';
import { appendOurs } from './response-headers.js';
import type { Site } from './site.js';
import { targetFault } from './target.js';
import { Turns } from './turns.js';
import { Upgrades } from './upgrade.js';
import { type UpstreamFailure, UpstreamLog } from './upstream-log.js';
import { Visit } from './visit.js';

export type GatewayLimits = Pick<
  GatewayConfig,
  'maxHeaderBytes' | 'headersTimeout' | 'idleTimeout' | 'upstreamConnections'
>;

export interface GatewayOptions {
  readonly site: Site;
  readonly limits: GatewayLimits;
  /** Told of faults of the gateway itself; requests never see them. */
  readonly onError: (error: unknown) => void;
  /** Told of upstreams that fail, now and then. */
  readonly onUpstreamFailure?: (failure: UpstreamFailure) => void;
  readonly observers?: readonly GatewayObserver[];
}

/** How often connections are checked for late headers. */
const CHECK_EVERY_MS = 1000;

/** A reverse proxy that asks the gate before anything reaches an upstream. */
export class Gateway {
  readonly server: Server;
  readonly #pools: Pools;
  readonly #upgrades: Upgrades;
  readonly #forwarder: Forwarder;
  readonly #onError: (error: unknown) => void;
  readonly #observers: readonly GatewayObserver[];
  readonly #turns: Turns = new Turns();
  #site: Site;
  #isDraining = false;

  constructor({ site, limits, onError, onUpstreamFailure = ignore, observers = [] }: GatewayOptions) {
    this.#site = site;
    this.#onError = onError;
    this.#observers = observers;
    this.#pools = new Pools(limits.upstreamConnections);
    const failures = new UpstreamLog(onUpstreamFailure, observers);
    const isClosing = () => this.#isDraining;
    this.#forwarder = { pools: this.#pools, stallMs: limits.idleTimeout, isClosing, failures, observers };
    this.#upgrades = new Upgrades(failures);
    this.server = this.#createServer(limits);
  }

  /** Later requests follow the new site. */
  replaceSite(site: Site): void {
    this.#site = site;
    this.#pools.keepOnly(new Set(site.routes.map(({ upstream }) => upstream)));
  }

  /** Answers with `Connection: close` from now on, and ends. */
  async drain(how: Drain): Promise<void> {
    this.#isDraining = true;
    await drainServer(this.server, how);
    this.#upgrades.destroy();
    await this.#pools.close();
  }

  #createServer(limits: GatewayLimits): Server {
    const server = createServer({
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeout,
      keepAliveTimeout: limits.idleTimeout,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      // Checked here, to answer like every other fault.
      requireHostHeader: false,
      // A long upload is no fault; silence inside one is, and is timed per route.
      requestTimeout: 0,
    });
    // Their bytes are bounded. Node's bound on their number drops the rest without a word.
    server.maxHeadersCount = 0;
    server.on('request', this.#receive);
    server.on('checkContinue', this.#receive);
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
      this.#turns.take(request.socket, response, () => answerFault(request, response, faults.badExpectation, true)),
    );
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', ignore);
      this.#turns.takeOver(socket, () => this.#upgrade(request, socket, head));
    });
    server.on('connect', (_: IncomingMessage, socket: Duplex) => {
      socket.on('error', ignore);
      this.#turns.takeOver(socket, () => this.#upgrades.refuse(socket, faults.noConnect));
    });
    server.on('clientError', answerBadRequest);
    return server;
  }

  readonly #receive = (request: IncomingMessage, response: ServerResponse): void =>
    this.#turns.take(request.socket, response, () => this.#handle(request, response));

  readonly #handle = (request: IncomingMessage, response: ServerResponse): void => {
    response.on('error', ignore);
    const visit = this.#visit(request);
    visit?.endWith(response);
    try {
      const fault = targetFault(request);
      if (fault !== undefined) return void answerFault(request, response, fault, true);
      const site = this.#site;
      visit?.enter(site);
      const verdict = decide(site.rules, request);
      if (!(verdict instanceof Promise)) return void this.#follow(verdict, site, request, response, visit);
      verdict
        .then((later) => this.#follow(later, site, request, response, visit))
        .catch((error) => this.#failed(error, request, response));
    } catch (error) {
      this.#failed(error, request, response);
    }
  };

  #visit(request: IncomingMessage): Visit | undefined {
    return this.#observers.length === 0 ? undefined : new Visit(request, this.#observers);
  }

  #follow(
    verdict: Verdict,
    site: Site,
    request: IncomingMessage,
    response: ServerResponse,
    visit: Visit | undefined,
  ): void {
    visit?.decided(verdict);
    onNodeEnd(request, response, verdict.finish);
    if (response.destroyed) return;
    if (verdict.allowed) return void forward(this.#forwarder, site, request, response, verdict.headers);
    const headers: string[] = [];
    appendOurs(headers, verdict.headers, request.headers.origin !== undefined);
    answer(request, response, verdict.status, headers, verdict.body, this.#isDraining);
  }

  #failed(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    this.#onError(error);
    answerFault(request, response, faults.internal, true);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.#upgrades.isWebSocket(request)) return void this.#upgrades.serveWithout(request, socket, this.#handle);
    const visit = this.#visit(request);
    visit?.endWithSocket(socket, () => this.#upgrades.statusOf(socket));
    const fault = targetFault(request) ?? this.#upgrades.faultOf(request);
    if (fault !== undefined) return void this.#upgrades.refuse(socket, fault);
    const site = this.#site;
    visit?.enter(site);
    Promise.resolve(decide(site.rules, request))
      .then((verdict) => {
        visit?.decided(verdict);
        this.#upgrades.follow(verdict, site, request, socket, head);
      })
      .catch((error) => {
        this.#onError(error);
        socket.destroy();
      });
  }
}

function ignore(): void {}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Verdict } from 'comporta/http';
import { monotonicMs } from '../time.js';
import type { GatewayObserver } from './observer.js';
import { isFault } from './problems.js';
import type { Route } from './routes.js';
import type { Site } from './site.js';

const NO_ROUTE = 'none';

/** One request from its arrival to the end of its answer, for those who observe the gateway. */
export class Visit {
  readonly #request: IncomingMessage;
  readonly #observers: readonly GatewayObserver[];
  readonly #startMs: number = monotonicMs();
  #site: Site | undefined;
  #verdict: Verdict | undefined;

  constructor(request: IncomingMessage, observers: readonly GatewayObserver[]) {
    this.#request = request;
    this.#observers = observers;
  }

  /** The target of the request is sound: by these rules and routes it is dealt with. */
  enter(site: Site): void {
    this.#site = site;
  }

  decided(verdict: Verdict): void {
    this.#verdict = verdict;
  }

  endWith(response: ServerResponse): void {
    response.once('close', () => this.#end(response.headersSent ? response.statusCode : 0));
  }

  /** For a connection that was taken over; `statusOf` says what was sent on it. */
  endWithSocket(socket: Duplex, statusOf: () => number): void {
    if (socket.destroyed) this.#end(statusOf());
    else socket.once('close', () => this.#end(statusOf()));
  }

  #end(status: number): void {
    const durationMs = monotonicMs() - this.#startMs;
    const served = { request: this.#request, route: this.#route(), status, durationMs, verdict: this.#verdict };
    for (const observer of this.#observers) observer.served?.(served);
  }

  #route(): string {
    const { url = '/', headers } = this.#request;
    const route = this.#site?.findRoute(headers.host ?? '', url);
    return route === undefined || isFault(route) ? NO_ROUTE : templateOf(route);
  }
}

/** `/api`, `api.example.com/v1`. */
function templateOf({ host = '', prefix }: Route): string {
  return `${host}${prefix === '' ? '/' : prefix}`;
}

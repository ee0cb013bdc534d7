import type { Server } from 'node:http';
import type { Log } from '../log.js';
import { dispatch } from './dispatch.js';
import { HttpListener } from './http-listener.js';
import type { ApiState } from './state.js';

/** Listens, and answers by the state in force. */
export class Api {
  readonly #listener: HttpListener;
  #state: ApiState;

  constructor(state: ApiState, log: Log, onReload: (isGood: boolean) => void) {
    const { tls, requestTimeout, idleTimeout } = state.settings;
    this.#state = state;
    this.#listener = new HttpListener({
      name: 'API',
      tls,
      requestTimeout,
      idleTimeout,
      receive: (request, response) => void dispatch(this.#state, request, response, log),
      log,
      onReload,
    });
  }

  get server(): Server {
    return this.#listener.server;
  }

  /** Later requests are answered by another state. */
  replaceState(state: ApiState): void {
    this.#state = state;
    this.#listener.replaceTls(state.settings.tls);
  }

  drain(isAtOnce: boolean): Promise<void> {
    return this.#listener.drain(isAtOnce);
  }
}

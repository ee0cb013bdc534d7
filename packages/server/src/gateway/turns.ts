import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Requests that a client sends without waiting for answers run one after the other. An answer that
 * ends the connection so leaves the rest undone (RFC 9112 9.6): a client may repeat those elsewhere.
 */
export class Turns {
  readonly #last: WeakMap<Duplex, ServerResponse> = new WeakMap();

  take(socket: Duplex, response: ServerResponse, run: () => void): void {
    const previous = this.#last.get(socket);
    this.#last.set(socket, response);
    // Node gives a response its socket when the ones before it are out and the connection stays.
    if (previous === undefined || response.socket !== null) run();
    else previous.once('finish', () => void (response.socket !== null && run()));
  }

  /** For what takes the whole connection over. */
  takeOver(socket: Duplex, run: () => void): void {
    const previous = this.#last.get(socket);
    if (previous === undefined || (previous.writableEnded && previous.socket === null)) run();
    else previous.once('finish', () => void (socket.writable && run()));
  }
}

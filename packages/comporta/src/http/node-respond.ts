import type { NodeResponse } from './node-end.js';
import type { Responder } from './respond.js';

/** What is used of a Node response to answer with it. */
export interface NodeAnswer extends NodeResponse {
  statusCode: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** Writes verdicts to a Node response, of HTTP/1 or HTTP/2. A class, since closures are made anew for each. */
export class NodeResponder implements Responder {
  readonly #response: NodeAnswer;

  constructor(response: NodeAnswer) {
    this.#response = response;
  }

  isOpen(): boolean {
    const { headersSent, writableEnded, destroyed } = this.#response;
    return !(headersSent || writableEnded || destroyed);
  }

  get(name: string): unknown {
    return this.#response.getHeader(name);
  }

  set(name: string, value: string): void {
    this.#response.setHeader(name, value);
  }

  send(status: number, body: string): void {
    this.#response.statusCode = status;
    this.#response.end(body);
  }
}

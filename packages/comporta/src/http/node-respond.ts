import type { NodeResponse } from './node-end.js';
import type { Responder } from './respond.js';

/** What is used of a Node response to answer with it. */
export interface NodeAnswer extends NodeResponse {
  statusCode: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** A Node response, of HTTP/1 or HTTP/2, as verdicts are written to it. */
export function nodeResponder(response: NodeAnswer): Responder {
  return {
    isOpen: () => !(response.headersSent || response.writableEnded || response.destroyed),
    get: (name) => response.getHeader(name),
    set: (name, value) => void response.setHeader(name, value),
    send: (status, body) => {
      response.statusCode = status;
      response.end(body);
    },
  };
}

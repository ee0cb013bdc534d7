import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Store } from 'comporta';
import { type StoreRequest, type StoreResponse, storeListener } from 'comporta/store-server';

const TOKEN = 'test-token-0123456789';

/** A store behind HTTP on a port of its own. */
export class StoreServer {
  readonly token: string = TOKEN;
  /** Bodies of requests as they came. */
  readonly requests: string[] = [];
  readonly #http: HttpServer;

  private constructor(http: HttpServer) {
    this.#http = http;
  }

  static async start(store: Store, port = 0): Promise<StoreServer> {
    const http = createServer();
    const served = new StoreServer(http);
    const answer = storeListener(store, { token: TOKEN });
    http.on('request', (request, response) => answer(noted(request, served.requests), response as StoreResponse));
    http.listen(port, '127.0.0.1');
    await once(http, 'listening');
    return served;
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    if (!this.#http.listening) return;
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }
}

function noted(request: StoreRequest, bodies: string[]): StoreRequest {
  const { method, url, headers } = request;
  return {
    method,
    url,
    headers,
    async *[Symbol.asyncIterator]() {
      let text = '';
      for await (const chunk of request) {
        text += new TextDecoder().decode(chunk);
        yield chunk;
      }
      bodies.push(text);
    },
  };
}

import type { Responder } from '../../http/index.js';

/** What is read and written of a Fastify reply. */
interface Reply {
  readonly sent: boolean;
  readonly raw: { readonly headersSent: boolean; readonly destroyed: boolean };
  getHeader(name: string): unknown;
  header(name: string, value: string): unknown;
  code(status: number): { send(body: unknown): unknown };
}

const utf8: TextEncoder = new TextEncoder();

/** Through the reply, so that hooks which are set see a refusal as any other answer. */
export class ReplyResponder implements Responder {
  readonly #reply: Reply;

  constructor(reply: Reply) {
    this.#reply = reply;
  }

  isOpen(): boolean {
    const { sent, raw } = this.#reply;
    return !(sent || raw.headersSent || raw.destroyed);
  }

  get(name: string): unknown {
    return this.#reply.getHeader(name);
  }

  set(name: string, value: string): void {
    this.#reply.header(name, value);
  }

  send(status: number, body: string): void {
    // Bytes, since Fastify would add a charset to the type of a text.
    this.#reply.code(status).send(utf8.encode(body));
  }
}

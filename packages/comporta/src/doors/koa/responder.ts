import type { NodeAnswer, NodeRequest, Responder } from '../../http/index.js';

/** What is read and written of a Koa context. */
export interface KoaContext {
  readonly req: NodeRequest;
  readonly res: NodeAnswer;
  readonly originalUrl: string;
  readonly headerSent: boolean;
  readonly writable: boolean;
  /** False where a middleware answers past Koa. */
  readonly respond?: boolean | undefined;
  /** Template of the route, set by `@koa/router`. */
  readonly _matchedRoute?: unknown;
  status: number;
  body: unknown;
}

/** Refuses through the context, so that middleware mounted before sees a refusal as any other answer. */
export class KoaResponder implements Responder {
  readonly #ctx: KoaContext;

  constructor(ctx: KoaContext) {
    this.#ctx = ctx;
  }

  isOpen(): boolean {
    const { respond, writable, headerSent, res } = this.#ctx;
    return respond !== false && writable && !headerSent && !res.destroyed;
  }

  get(name: string): unknown {
    return this.#ctx.res.getHeader(name);
  }

  set(name: string, value: string): void {
    this.#ctx.res.setHeader(name, value);
  }

  send(status: number, body: string): void {
    this.#ctx.status = status;
    this.#ctx.body = body;
  }
}

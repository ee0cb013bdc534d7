import type { NodeRequest, NodeResponse, Responder } from '../../http/index.js';

/** What is read and written of a Koa context. */
export interface KoaContext {
  readonly req: NodeRequest;
  readonly res: NodeResponse;
  readonly originalUrl: string;
  readonly headerSent: boolean;
  readonly writable: boolean;
  /** False where a middleware answers past Koa. */
  readonly respond?: boolean | undefined;
  /** Template of the route, set by `@koa/router`. */
  readonly _matchedRoute?: unknown;
  readonly response: { get(name: string): unknown };
  status: number;
  body: unknown;
  set(name: string, value: string): void;
}

/** Through the context, so that middleware mounted before sees a refusal as any other answer. */
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
    return this.#ctx.response.get(name);
  }

  set(name: string, value: string): void {
    this.#ctx.set(name, value);
  }

  send(status: number, body: string): void {
    this.#ctx.status = status;
    this.#ctx.body = body;
  }
}

import { ComportaError, show } from '../../core/errors.js';
import type { Gate } from '../../http/gate.js';
import type { RateLimitOptions } from '../../http/mount.js';
import type { LambdaAnswer } from './answer.js';
import { type LambdaTurn, lambdaDoor } from './turn.js';

/** An async handler; those that take a callback are refused, for the Node.js 24 runtime has none. */
export type LambdaHandler<Event, Context, Result> = (event: Event, context: Context, callback: never) => Result;

/** What a handler answers with, or a refusal. */
export type LambdaResult<Result> = Promise<Exclude<Awaited<Result>, void> | LambdaAnswer>;

/** Wraps a handler: its requests are decided on before it runs, and settled before their answer goes out. */
export function limitLambda<Event, Context, Result>(
  handler: LambdaHandler<Event, Context, Result>,
  options: RateLimitOptions<Event>,
): { readonly gate: Gate<Event>; handle(event: Event, context: Context): LambdaResult<Result> } {
  checkHandler(handler);
  const { gate, begin } = lambdaDoor<Event>(options);
  const handle = async (event: Event, context: Context): Promise<unknown> => {
    const turn = await begin(event, context);
    if (turn.refusal !== undefined) return turn.refusal;
    let answer: unknown;
    try {
      answer = await handler(event, context, undefined as never);
    } catch (error) {
      await turn.fail(500, context);
      throw error;
    }
    return turn.end(answer, context);
  };
  return { gate, handle: handle as (event: Event, context: Context) => LambdaResult<Result> };
}

function checkHandler(handler: unknown): void {
  if (typeof handler !== 'function') {
    throw new ComportaError('ERR_OPTION', `handler: expected an async function, got ${show(handler)}`, 'handler');
  }
  if (handler.length < 3) return;
  const message = 'handler: takes a callback, which newer runtimes do not pass; make it async, with two parameters';
  throw new ComportaError('ERR_OPTION', message, 'handler');
}

/** What middy passes to the hooks of a middleware. */
export interface MiddyRequest<Event> {
  readonly event: Event;
  readonly context: unknown;
  response: unknown;
  readonly error: unknown;
}

/** The hooks of a middy middleware. */
export interface MiddyHooks<Event> {
  before(request: MiddyRequest<Event>): Promise<LambdaAnswer | undefined>;
  after(request: MiddyRequest<Event>): Promise<void>;
  onError(request: MiddyRequest<Event>): Promise<void>;
}

/** As {@link limitLambda}, in the hooks that middy calls. */
export function limitMiddy<Event>(
  options: RateLimitOptions<Event>,
): MiddyHooks<Event> & { readonly gate: Gate<Event> } {
  const { gate, begin } = lambdaDoor<Event>(options);
  const turns = new WeakMap<object, LambdaTurn>();
  return {
    gate,
    async before(request) {
      const turn = await begin(request.event, request.context);
      turns.set(request, turn);
      return turn.refusal;
    },
    async after(request) {
      const turn = turns.get(request);
      if (turn !== undefined) request.response = await turn.end(request.response, request.context);
    },
    async onError(request) {
      const { response, error, context } = request;
      const turn = turns.get(request);
      if (response === undefined || response === null) await turn?.fail(statusOf(error), context);
      else request.response = (await turn?.end(response, context)) ?? response;
    },
  };
}

/** Errors made with `http-errors` say what they are answered with. */
function statusOf(error: unknown): number {
  const { statusCode } = (error ?? {}) as { readonly statusCode?: unknown };
  return typeof statusCode === 'number' ? statusCode : 500;
}

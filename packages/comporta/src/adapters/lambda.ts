import { type AuthorizerAnswer, lambdaAuthorizer } from '../doors/lambda/authorizer.js';
import type { LambdaEvent } from '../doors/lambda/event.js';
import {
  type LambdaHandler,
  type LambdaResult,
  limitLambda,
  limitMiddy,
  type MiddyHooks,
} from '../doors/lambda/handler.js';
import type { Gate, RateLimitOptions } from '../http/index.js';

export type { LambdaAnswer } from '../doors/lambda/answer.js';
export type { AuthorizerAnswer } from '../doors/lambda/authorizer.js';
export type { LambdaEvent } from '../doors/lambda/event.js';
export type { LambdaHandler, LambdaResult, MiddyHooks, MiddyRequest } from '../doors/lambda/handler.js';
export type { RateLimitOptions } from '../http/index.js';

/** What stands behind a gate; `close` ends the gate. */
interface Limited<Event> {
  readonly gate: Gate<Event>;
  close(): Promise<void>;
}

/** A handler behind a gate. */
export type LimitedHandler<Event, Context, Result> = Limited<Event> &
  ((event: Event, context: Context) => LambdaResult<Result>);

/**
 * Wraps an async handler of REST, HTTP API, function URL or load balancer events so that requests over their
 * limits never reach it. Events of other kinds pass uncounted, reported once. Throws when an option is wrong.
 */
export function withRateLimit<Event = LambdaEvent, Context = unknown, Result = unknown>(
  handler: LambdaHandler<Event, Context, Result>,
  options: RateLimitOptions<NoInfer<Event>>,
): LimitedHandler<Event, Context, Result> {
  const { gate, handle } = limitLambda<Event, Context, Result>(handler, options);
  return Object.assign(handle, { gate, close: () => gate.close() });
}

/**
 * Makes a middleware for middy, to be used before all others: `middy(handler).use(rateLimitMiddleware({ ... }))`.
 * Where another one answers early, middy tells nobody: wrap all in {@link withRateLimit} instead. Throws when an
 * option is wrong.
 */
export function rateLimitMiddleware<Event = LambdaEvent>(
  options: RateLimitOptions<Event>,
): MiddyHooks<Event> & Limited<Event> {
  const { gate, ...hooks } = limitMiddy<Event>(options);
  return { ...hooks, gate, close: () => gate.close() };
}

/**
 * Makes an authorizer for REST APIs (a policy document) and HTTP APIs (simple responses). It refuses with 403
 * only, without fields, and counts nothing that the gateway finds in its cache: set the authorizer's TTL to 0.
 * Throws when an option is wrong; so are `count` and places, since an authorizer never sees an answer.
 */
export function rateLimitAuthorizer<Event = LambdaEvent>(
  options: RateLimitOptions<Event>,
): Limited<Event> & ((event: Event) => Promise<AuthorizerAnswer<Event>>) {
  const { gate, answer } = lambdaAuthorizer<Event>(options);
  return Object.assign(answer, { gate, close: () => gate.close() });
}

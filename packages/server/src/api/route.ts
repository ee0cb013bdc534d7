import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MaybePromise } from 'comporta';
import type { z } from 'zod';
import { type Answer, problemSchema } from './problem.js';
import type { ApiState } from './state.js';

/** One request that a route answers. */
export interface Call {
  readonly state: ApiState;
  readonly request: IncomingMessage;
  readonly query: URLSearchParams;
  /** What stands in the path in place of `{policy}`; empty where there is none. */
  readonly policy: string;
}

/** Who may call: anybody, who has a token of the API, who has one of the store, a trusted proxy. */
export type Access = 'anybody' | 'token' | 'store-token' | 'proxy';

/** A status that a route answers with, and what it means. */
export interface Outcome {
  readonly means: string;
  readonly schema?: z.ZodType;
  readonly type?: string;
}

/** One entry of the table that dispatch, the documents and the tests are made from. */
export interface Route {
  readonly path: string;
  /** Beside HEAD where there is GET; every method when left out. */
  readonly method?: 'GET' | 'POST';
  readonly access: Access;
  readonly summary: string;
  /** The JSON that the body must be. */
  readonly body?: z.ZodType;
  /** An example of a body that is answered with 200. */
  readonly example?: unknown;
  readonly query?: Readonly<Record<string, string>>;
  readonly outcomes: Readonly<Record<number, Outcome>>;
  answer(call: Call, body: unknown): MaybePromise<Answer>;
  /** In place of `answer`: the whole exchange, from the body on. */
  take?(state: ApiState, request: IncomingMessage, response: ServerResponse): void;
}

interface Jsons<Body extends z.ZodType> extends Omit<Route, 'body' | 'method' | 'answer' | 'take'> {
  readonly body: Body;
  readonly example: z.input<Body>;
  answer(call: Call, body: z.output<Body>): MaybePromise<Answer>;
}

/** A route that takes JSON: what does not fit its schema never reaches it. */
export function jsonRoute<Body extends z.ZodType>(route: Jsons<Body>): Route {
  return { ...route, method: 'POST', answer: (call, body) => route.answer(call, body as z.output<Body>) };
}

const problemOutcome = (means: string): Outcome => ({ means, schema: problemSchema, type: 'application/problem+json' });

/** What dispatch answers by itself, and where. */
export const commonOutcomes: Readonly<Record<number, Outcome & { readonly isOf: (route: Route) => boolean }>> = {
  400: {
    ...problemOutcome('The body is not the JSON that is expected; `field` says where.'),
    isOf: ({ body, take }) => body !== undefined || take !== undefined,
  },
  401: {
    ...problemOutcome('No bearer token, or one that is not taken here.'),
    isOf: ({ access }) => access === 'token' || access === 'store-token',
  },
  403: {
    ...problemOutcome('No client certificate that `api.tls.ca` vouches for, where that is set.'),
    isOf: ({ access }) => access !== 'anybody',
  },
  405: {
    ...problemOutcome('Another method; `Allow` names the right one.'),
    isOf: ({ method }) => method !== undefined,
  },
  408: {
    ...problemOutcome('The request did not arrive within `api.requestTimeout`.'),
    isOf: ({ body, take }) => body !== undefined || take !== undefined,
  },
  413: {
    ...problemOutcome('The body is larger than `api.maxBodyBytes`, or than 8 MiB at `/v1/store`.'),
    isOf: ({ body, take }) => body !== undefined || take !== undefined,
  },
  415: {
    ...problemOutcome('The body is not declared as `application/json`, or is compressed.'),
    isOf: ({ body }) => body !== undefined,
  },
  417: { ...problemOutcome('An expectation other than `100-continue`.'), isOf: () => true },
  500: { ...problemOutcome('A fault of this program, which is in its log.'), isOf: () => true },
  503: { ...problemOutcome('This process is ending; another one can answer.'), isOf: ({ body }) => body !== undefined },
};

/** Every status that a route can answer with, those of dispatch included. */
export function outcomesOf(route: Route): Readonly<Record<number, Outcome>> {
  const common = Object.entries(commonOutcomes).filter(([, { isOf }]) => isOf(route));
  return {
    ...Object.fromEntries(common.map(([status, { isOf: _, ...outcome }]) => [status, outcome])),
    ...route.outcomes,
  };
}

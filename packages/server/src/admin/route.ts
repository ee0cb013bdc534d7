import type { MaybePromise } from 'comporta';
import type { z } from 'zod';
import { type Answer, problemSchema } from '../api/problem.js';
import type { Role } from './schema.js';
import type { AdminState } from './state.js';

/** One request that a route answers. */
export interface AdminCall {
  readonly state: AdminState;
  readonly query: URLSearchParams;
  /** What stands in the path in place of `{policy}`; empty where there is none. */
  readonly policy: string;
}

/** A status that a route answers with, and what it means. */
interface Outcome {
  readonly means: string;
  readonly schema?: z.ZodType;
}

/** One entry of the table that dispatch, the documents and the tests are made from. */
export interface AdminRoute {
  readonly path: string;
  /** Beside HEAD where there is GET. */
  readonly method: 'GET' | 'POST';
  readonly role: Role;
  readonly summary: string;
  /** The JSON that the body must be. */
  readonly body?: z.ZodType;
  /** An example of a body that is answered with 200. */
  readonly example?: unknown;
  readonly query?: Readonly<Record<string, string>>;
  readonly outcomes: Readonly<Record<number, Outcome>>;
  answer(call: AdminCall, body: unknown): MaybePromise<Answer>;
}

interface Jsons<Body extends z.ZodType> extends Omit<AdminRoute, 'body' | 'method' | 'answer'> {
  readonly body: Body;
  readonly example: z.input<Body>;
  answer(call: AdminCall, body: z.output<Body>): MaybePromise<Answer>;
}

/** A route that takes JSON: what does not fit its schema never reaches it. */
export function jsonRoute<Body extends z.ZodType>(route: Jsons<Body>): AdminRoute {
  return { ...route, method: 'POST', answer: (call, body) => route.answer(call, body as z.output<Body>) };
}

/** What dispatch answers by itself, and where. */
export const commonOutcomes: Readonly<
  Record<number, { readonly means: string; readonly isOf: (route: AdminRoute) => boolean }>
> = {
  400: {
    means: 'The body or the query is not as expected; `field` says where.',
    isOf: ({ body, query }) => body !== undefined || query !== undefined,
  },
  401: { means: 'No bearer token, or one that is not taken here.', isOf: () => true },
  403: {
    means: 'The token has the role `read` only, or there is no client certificate that `admin.tls.ca` vouches for.',
    isOf: () => true,
  },
  404: { means: 'There is no such path or policy; `detail` names the nearest policy.', isOf: () => true },
  405: { means: 'Another method; `Allow` names the right one.', isOf: () => true },
  408: { means: 'The request did not arrive within 10 seconds.', isOf: ({ body }) => body !== undefined },
  413: { means: 'The body is larger than 64 KiB.', isOf: ({ body }) => body !== undefined },
  415: {
    means: 'The body is not declared as `application/json`, or is compressed.',
    isOf: ({ body }) => body !== undefined,
  },
  417: { means: 'An expectation other than `100-continue`.', isOf: () => true },
  500: { means: 'A fault of this program, which is in its log.', isOf: () => true },
  503: {
    means:
      'The store did not confirm it in time, or this process is ending: look before you try again. Or other workers did not answer in time.',
    isOf: ({ path }) => path !== '/admin/policies',
  },
};

/** Every status that a route can answer with, those of dispatch included. */
export function outcomesOf(route: AdminRoute): AdminRoute['outcomes'] {
  const common = Object.entries(commonOutcomes).filter(([, { isOf }]) => isOf(route));
  return {
    ...Object.fromEntries(common.map(([status, { means }]) => [status, { means, schema: problemSchema }])),
    ...route.outcomes,
  };
}

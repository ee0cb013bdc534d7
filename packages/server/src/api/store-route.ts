import { Refusal } from './problem.js';
import type { Route } from './route.js';

const MAX_MIB = 8;

/** The library's own service: its protocol is that of `httpStore`. */
export const storeRoute: Route = {
  path: '/v1/store',
  method: 'POST',
  access: 'store-token',
  summary: "The store itself, for processes that use the library's `httpStore`.",
  outcomes: {
    200: { means: `Replies to the calls of \`httpStore\`; a request has at most ${MAX_MIB} MiB.` },
    404: { means: '`api.store` is not set.', type: 'application/problem+json' },
  },
  answer: () => {
    throw new Refusal(404, 'The store is not served: set api.store.tokens in the configuration.');
  },
  take: (state, request, response) => state.store?.(request, response),
};

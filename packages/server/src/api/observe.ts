import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Access, Words } from '../access-log/entry.js';
import { monotonicMs } from '../time.js';
import { routeAt } from './routes.js';

const wordsOf = new WeakMap<ServerResponse, Words>();

/** What was decided for the request that is answered here. */
export const note = (response: ServerResponse, words: Words): void => void wordsOf.set(response, words);

/** Tells of each request once its answer has ended; the route is as in the table, `none` where nothing is. */
export function observeRequests(server: Server, tell: (access: Access) => void): void {
  const observe = (request: IncomingMessage, response: ServerResponse): void => {
    const startMs = monotonicMs();
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    response.once('close', () => {
      const route = routeAt(path)?.route.path ?? 'none';
      const status = response.headersSent ? response.statusCode : 0;
      tell({ request, route, status, durationMs: monotonicMs() - startMs, words: wordsOf.get(response) });
    });
  };
  server.on('request', observe).on('checkContinue', observe);
}

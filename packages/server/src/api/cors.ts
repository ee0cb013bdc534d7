import type { IncomingMessage } from 'node:http';
import { EXPOSED_HEADERS, type Field } from 'comporta/http';
import type { Answer } from './problem.js';
import type { Route } from './route.js';

type Origins = readonly string[] | undefined;

const MAX_AGE_S = '600';

/** What lets the pages of an allowed origin read an answer. Nothing where no origin is allowed. */
export function corsFields(origins: Origins, { headers }: IncomingMessage): readonly Field[] {
  if (origins === undefined) return [];
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin)) return [['vary', 'origin']];
  return [
    ['vary', 'origin'],
    ['access-control-allow-origin', origin],
    ['access-control-expose-headers', EXPOSED_HEADERS],
  ];
}

/** The answer to a browser that asks whether its page may call a route; `undefined` for any other request. */
export function preflight(origins: Origins, request: IncomingMessage, { method }: Route): Answer | undefined {
  const { origin } = request.headers;
  const wanted = request.headers['access-control-request-method'];
  if (request.method !== 'OPTIONS' || wanted === undefined || method === undefined) return undefined;
  if (origin === undefined || origins?.includes(origin) !== true) return undefined;
  const headers: Field[] = [
    ['access-control-allow-methods', method],
    ['access-control-allow-headers', 'authorization, content-type'],
    ['access-control-max-age', MAX_AGE_S],
  ];
  return { status: 204, headers, body: '' };
}

import { authorizeRoutes } from './authorize.js';
import { decisionRoutes } from './decisions.js';
import { healthRoutes } from './health.js';
import { metricsRoute } from './metrics.js';
import { openApiDocument } from './openapi.js';
import { json } from './problem.js';
import { rateLimitRoute } from './rate-limit-json.js';
import type { Route } from './route.js';
import { storeRoute } from './store-route.js';

const openApi: Route = {
  path: '/openapi.json',
  method: 'GET',
  access: 'anybody',
  summary: 'This table as an OpenAPI 3.1 document.',
  outcomes: { 200: { means: 'The document.' } },
  answer: () => json(200, openApiDocument(routes)),
};

/** Everything that the API answers: dispatch, the documents and the tests are made from this table. */
export const routes: readonly Route[] = [
  ...decisionRoutes,
  ...authorizeRoutes,
  rateLimitRoute,
  storeRoute,
  ...healthRoutes,
  metricsRoute,
  openApi,
];

const byPath: ReadonlyMap<string, Route> = new Map(routes.map((route) => [route.path, route]));
/** A path whose last part is a name. */
const NAMED = /^(\/.+)\/([^/]+)$/;

/** The route at a path, with the name of the policy in it; `undefined` where there is none. */
export function routeAt(path: string): { readonly route: Route; readonly policy: string } | undefined {
  const plain = path.endsWith('}') ? undefined : byPath.get(path);
  if (plain !== undefined) return { route: plain, policy: '' };
  const [, start = '', name = ''] = NAMED.exec(path) ?? [];
  const route = byPath.get(`${start}/{policy}`);
  return route && { route, policy: decoded(name) };
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

import { Refusal } from '../api/problem.js';
import { overviewRoutes } from './overview.js';
import type { AdminRoute } from './route.js';
import { subjectRoutes } from './subjects.js';

/** Everything that the admin API answers: dispatch, the documents and the tests are made from this table. */
export const adminRoutes: readonly AdminRoute[] = [...overviewRoutes, ...subjectRoutes];

const SUBJECTS = '/admin/subjects/';

/** The route for a request; throws a {@link Refusal} of 404 or 405. A policy may be named as an operation is. */
export function routeFor(method: string, path: string): { readonly route: AdminRoute; readonly policy: string } {
  const policy = path.startsWith(SUBJECTS) ? nameIn(path.slice(SUBJECTS.length)) : undefined;
  const here = adminRoutes.filter((route) =>
    route.path.endsWith('{policy}') ? policy !== undefined : route.path === path,
  );
  const route = here.find((each) => each.method === method || (each.method === 'GET' && method === 'HEAD'));
  if (route !== undefined) return { route, policy: policy ?? '' };
  if (here.length === 0) throw new Refusal(404, 'There is nothing at this path.');
  const allow = here.flatMap((each) => (each.method === 'GET' ? ['GET', 'HEAD'] : [each.method])).join(', ');
  throw new Refusal(405, `Expected ${allow}.`, { headers: [['allow', allow]] });
}

function nameIn(part: string): string | undefined {
  if (part === '' || part.includes('/')) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

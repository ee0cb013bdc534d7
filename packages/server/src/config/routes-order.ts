import type { RouteConfig } from './types.js';

/** Index of the earlier route that leaves nothing for this one, or -1. */
export function takenBy(routes: readonly RouteConfig[], index: number): number {
  const route = routes[index];
  if (route === undefined) return -1;
  return routes.findIndex(
    (earlier, i) => i < index && coversHost(earlier.host, route.host) && coversPath(earlier.path, route.path),
  );
}

/** A route's path as its whole segments: `/api/`, `/api/*` and `/api` are one prefix. */
export function prefixOf(path: string): string {
  return path.replace(/\/\*?$/, '');
}

function coversPath(earlier: string, later: string): boolean {
  const [prefix, path] = [prefixOf(earlier), prefixOf(later)];
  return path === prefix || path.startsWith(`${prefix}/`);
}

function coversHost(earlier: string | undefined, later: string | undefined): boolean {
  if (earlier === undefined || earlier === later) return true;
  return earlier.startsWith('*.') && later?.endsWith(earlier.slice(1)) === true;
}

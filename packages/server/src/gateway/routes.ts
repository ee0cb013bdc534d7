import { prefixOf } from '../config/routes-order.js';
import type { RouteConfig } from '../config/types.js';
import { normalizePath, pathsOf, resolvePath } from './path.js';
import { type Fault, faults } from './problems.js';

/** A route as the request path needs it. */
export interface Route {
  /** Path without a slash at its end: empty for `/`. */
  readonly prefix: string;
  readonly host: string | undefined;
  /** Origin of the upstream, or `echo`. */
  readonly upstream: string;
  readonly timeoutMs: number;
  readonly stripPrefix: boolean;
  readonly preserveHost: boolean;
}

/** The route of a request, or why it has none. */
export type FindRoute = (host: string, url: string) => Route | Fault;

export function toRoute(config: RouteConfig): Route {
  const { path, host, upstream, timeout, stripPrefix, preserveHost } = config;
  const origin = upstream === 'echo' ? upstream : new URL(upstream).origin;
  return {
    prefix: normalizePath(prefixOf(path)),
    host,
    upstream: origin,
    timeoutMs: timeout,
    stripPrefix,
    preserveHost,
  };
}

/**
 * The first matching route. A single route for everything needs no look at the request. A target that
 * would take different routes in different readings takes none.
 */
export function routeFinder(routes: readonly Route[]): FindRoute {
  const [first] = routes;
  if (first?.prefix === '' && first.host === undefined) return () => first;
  return (host, url) => {
    const name = host.replace(/\.?(:\d*)?$/, '').toLowerCase();
    const [path, ...others] = pathsOf(url) ?? [];
    if (path === undefined) return faults.unclearTarget;
    const find = (read: string) => routes.find((route) => takesHost(route, name) && takesPath(route, read));
    const found = find(path);
    return others.every((other) => find(other) === found) ? (found ?? faults.noRoute) : faults.unclearTarget;
  };
}

/** The target to forward: as received, less the prefix where the route removes it. */
export function forwardedTarget(route: Route, url: string): string {
  const { prefix, stripPrefix } = route;
  if (!stripPrefix || prefix === '') return url;
  const rest = url.slice(prefix.length);
  const path = normalizePath(url).slice(prefix.length);
  // Cut as text only where that leaves the path that the route was chosen for.
  // What is left must not start with two slashes: an upstream may take what follows them for a host.
  const isPlain =
    !rest.startsWith('//') &&
    url.slice(0, prefix.length).toLowerCase() === prefix &&
    normalizePath(`/${rest}`) === path;
  if (isPlain) return rest.startsWith('/') ? rest : `/${rest}`;
  const query = url.indexOf('?');
  return resolvePath(url, prefix.split('/').length - 1) + (query < 0 ? '' : url.slice(query));
}

function takesHost({ host }: Route, name: string): boolean {
  if (host === undefined || host === name) return true;
  return host.startsWith('*.') && name.endsWith(host.slice(1)) && name.length > host.length - 1;
}

function takesPath({ prefix }: Route, path: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path.charCodeAt(prefix.length) === 47);
}

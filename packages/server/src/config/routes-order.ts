import type { RouteConfig } from './types.js';

/** Index of the earlier route that leaves nothing for this one, or -1. */
export function takenBy(routes: readonly RouteConfig[], index: number): number {
  const route = routes[index];
  if (route === undefined) return -1;
  const { firsts, lengths, hostLengths } = orderOf(routes);
  const hosts = hostsAbove(route.host, hostLengths);
  let first = index;
  for (const prefix of prefixesOf(prefixOf(route.path), lengths)) {
    for (const host of hosts) first = Math.min(first, firsts.get(keyOf(host, prefix)) ?? first);
  }
  return first < index ? first : -1;
}

/** A route's path as its whole segments: `/api/`, `/api/*` and `/api` are one prefix. */
export function prefixOf(path: string): string {
  return path.replace(/\/\*?$/, '');
}

interface Order {
  /** The first route of each host and prefix. */
  readonly firsts: ReadonlyMap<string, number>;
  /** Lengths of the prefixes and hosts that occur: no others are looked for. */
  readonly lengths: ReadonlySet<number>;
  readonly hostLengths: ReadonlySet<number>;
}

const orders: WeakMap<readonly RouteConfig[], Order> = new WeakMap();

/** Worked out once for a list: comparing each route with each takes seconds for thousands. */
function orderOf(routes: readonly RouteConfig[]): Order {
  const known = orders.get(routes);
  if (known !== undefined) return known;
  const firsts = new Map<string, number>();
  const lengths = new Set<number>();
  const hostLengths = new Set<number>();
  for (const [i, { path, host }] of routes.entries()) {
    const prefix = prefixOf(path);
    const key = keyOf(host, prefix);
    lengths.add(prefix.length);
    hostLengths.add(host?.length ?? 0);
    if (!firsts.has(key)) firsts.set(key, i);
  }
  const order = { firsts, lengths, hostLengths };
  orders.set(routes, order);
  return order;
}

function keyOf(host: string | undefined, prefix: string): string {
  return `${host ?? ''} ${prefix}`;
}

/** A prefix and the ones above it that some route has. */
function prefixesOf(prefix: string, lengths: ReadonlySet<number>): readonly string[] {
  const found = [prefix];
  for (let end = prefix.lastIndexOf('/'); end >= 0; end = end === 0 ? -1 : prefix.lastIndexOf('/', end - 1)) {
    if (lengths.has(end)) found.push(prefix.slice(0, end));
  }
  return found;
}

/** Hosts whose routes take every request for this one. */
function hostsAbove(host: string | undefined, lengths: ReadonlySet<number>): readonly (string | undefined)[] {
  if (host === undefined) return [undefined];
  const above: (string | undefined)[] = [undefined, host];
  for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
    if (lengths.has(host.length - dot + 1)) above.push(`*${host.slice(dot)}`);
  }
  return above;
}

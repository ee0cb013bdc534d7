import { show } from '../core/errors.js';
import type { Params } from '../identity/sources.js';
import type { RequestView } from '../identity/view.js';
import { matchReadings, normalTemplate, type PathPattern, parsePattern } from './pattern.js';
import type { Match } from './policy.js';
import { type PathReadings, pathReadings } from './readings.js';
import { refusal } from './refusal.js';

const NO_PARAMS: Params = new Map();

/** A request as matchers see it; each part is worked out once, and only when a policy asks for it. */
export class Target {
  readonly #view: RequestView;
  #path: PathReadings | undefined;
  #host: string | undefined;
  #template: string | undefined;

  constructor(view: RequestView) {
    this.#view = view;
  }

  get method(): string {
    return this.#view.method;
  }

  get path(): PathReadings {
    this.#path ??= pathReadings(this.#view.url);
    return this.#path;
  }

  get host(): string {
    this.#host ??= hostName(this.#view.header('host')[0] ?? this.#view.header(':authority')[0] ?? '');
    return this.#host;
  }

  get template(): string {
    this.#template ??= normalTemplate(this.#view.route ?? '');
    return this.#template;
  }
}

/** Parameters of the path when a policy applies to a request, else `undefined`. */
export type Matcher = (target: Target) => Params | undefined;

/** Compiles a match; throws `ERR_POLICY` for one that no request can ever satisfy. */
export function compileMatch(match: Match | undefined, field: string): Matcher {
  if (match === undefined) return () => NO_PARAMS;
  if (typeof match !== 'object' || match === null)
    throw refusal(field, `expected { path, methods, hosts }, got ${show(match)}`);
  for (const name of Object.keys(match)) {
    if (!['path', 'methods', 'hosts'].includes(name))
      throw refusal(`${field}.${name}`, 'unknown; a match takes path, methods, hosts');
  }
  const patterns = patternsOf(match, field);
  const methods = match.methods === undefined ? undefined : methodSet(match.methods, `${field}.methods`);
  const hosts = match.hosts === undefined ? undefined : hostTest(match.hosts, `${field}.hosts`);
  return (target) => {
    if (methods !== undefined && !methods.has(target.method)) return undefined;
    if (hosts !== undefined && !hosts(target.host)) return undefined;
    return patterns === undefined ? NO_PARAMS : matchPath(patterns, target);
  };
}

/** The patterns of a match, or `undefined` when it takes any path. */
export function patternsOf(match: Match | undefined, field: string): readonly PathPattern[] | undefined {
  const path = match?.path;
  if (path === undefined) return undefined;
  if (!Array.isArray(path)) return [parsePattern(path, `${field}.path`)];
  return list(path, `${field}.path`).map((item, i) => parsePattern(item, `${field}.path[${i}]`));
}

/** A route that the framework matched under the pattern's own name counts, whatever the path looks like. */
function matchPath(patterns: readonly PathPattern[], target: Target): Params | undefined {
  for (const pattern of patterns) {
    const params = matchReadings(pattern, target.path);
    if (params !== undefined) return params;
    if (target.template === pattern.text) return NO_PARAMS;
  }
  return undefined;
}

/** GET includes HEAD: routers run the same handler for both. */
function methodSet(methods: unknown, field: string): ReadonlySet<string> {
  const names = list(methods, field).map((name, i) => {
    if (typeof name === 'string' && /^[A-Z][A-Z-]*$/.test(name)) return name;
    throw refusal(`${field}[${i}]`, `expected an upper-case method such as "POST", got ${show(name)}`);
  });
  return new Set(names.includes('GET') ? [...names, 'HEAD'] : names);
}

function hostTest(hosts: unknown, field: string): (host: string) => boolean {
  const exact = new Set<string>();
  const suffixes: string[] = [];
  for (const [i, host] of list(hosts, field).entries()) {
    const name = typeof host === 'string' ? host.toLowerCase() : '';
    if (!/^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$|^\[[0-9a-f:.]+\]$/.test(name)) {
      throw refusal(`${field}[${i}]`, `expected a host name without port, such as "*.example.com", got ${show(host)}`);
    }
    if (name.startsWith('*')) suffixes.push(name.slice(1));
    else exact.add(name);
  }
  return (host) => exact.has(host) || suffixes.some((suffix) => host.length > suffix.length && host.endsWith(suffix));
}

/** Lower case, without port and trailing dot. */
function hostName(value: string): string {
  const host = value.toLowerCase().replace(/:\d*$/, '');
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

function list(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value;
  throw refusal(
    field,
    `expected a list with at least one entry, got ${Array.isArray(value) ? 'an empty list' : show(value)}`,
  );
}

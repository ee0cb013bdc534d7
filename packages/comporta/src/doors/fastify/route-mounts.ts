import { ComportaError, show } from '../../core/errors.js';
import { derivedName, type NameParts } from '../../http/derived-name.js';
import type { Gate, GateOptions } from '../../http/gate.js';
import { checkGateOptions, isGateOption } from '../../http/gate-options.js';
import { type Mounted, mount, type RateLimitOptions } from '../../http/mount.js';
import { createReport, type Report } from '../../http/report.js';
import type { Limiter } from '../../limiter/limiter.js';
import { memoryStore } from '../../stores/memory.js';

/** What a limiter of a framework with routes is made of. */
export type RoutedOptions<Request> =
  | (RateLimitOptions<Request> & { readonly global?: boolean })
  | (Omit<GateOptions<Request>, 'policies'> & { readonly global: false; readonly name?: string });

/** What a route says: `false` leaves it out, `true` takes it in, `cost` stands for the policies' own, or its limits. */
export type RouteLimits<Request> = boolean | { readonly cost?: number } | RateLimitOptions<Request>;

/** A route as its limits are named after. */
export interface Route {
  readonly method: string | readonly string[] | undefined;
  readonly url: string | undefined;
  /** What else a request must have to meet it; known when the route is made. */
  readonly constraints?: object | undefined;
}

/** Who decides on the requests of a route, and with which cost in place of the policies' own. */
export interface RouteMount<Request> {
  readonly mounted: Mounted<Request> | undefined;
  readonly cost: number | undefined;
}

/** The gate of all routes, and those of routes with limits of their own. All share one store. */
export class RouteMounts<Request> {
  readonly #options: RoutedOptions<Request>;
  readonly #shared: RouteMount<Request>;
  readonly #others: RouteMount<Request>;
  readonly #owned: Map<object, Map<string, RouteMount<Request>>> = new Map();
  readonly #mounts: Set<Mounted<Request>> = new Set();
  readonly #report: Report;
  readonly #closeStore: () => Promise<void>;

  constructor({ global = true, ...options }: RoutedOptions<Request>) {
    if (typeof global !== 'boolean') throw refusal('global', `expected a boolean, got ${show(global)}`);
    const store = options.store ?? memoryStore();
    this.#closeStore = options.store === undefined ? () => store.close() : async () => undefined;
    this.#options = { ...options, store } as RoutedOptions<Request>;
    this.#report = createReport(options.onError);
    const isBare = !hasLimits(options);
    if (isBare && !global) checkGateOptions(without(this.#options, ['name']));
    const mounted = isBare && !global ? undefined : this.#mount(this.#options as RateLimitOptions<Request>);
    this.#shared = { mounted, cost: undefined };
    this.#others = global ? this.#shared : NOBODY;
  }

  /** The gate of routes without limits of their own; `undefined` where there is none. */
  get gate(): Gate<Request> | undefined {
    return this.#shared.mounted?.gate;
  }

  /** The limiters of all gates, by name. */
  get limiters(): ReadonlyMap<string, Limiter> {
    return new Map([...this.#mounts].flatMap(({ gate }) => [...gate.limiters]));
  }

  /** For a route when it is made; throws when what it says cannot be meant. */
  add(limits: unknown, route: Route): RouteMount<Request> {
    if (limits === undefined) return this.#others;
    if (limits === false) return NOBODY;
    if (limits === true) return this.#asked(undefined);
    if (typeof limits !== 'object' || limits === null) {
      throw refusal('rateLimit', `expected false, true, { cost } or { limits, ... }, got ${show(limits)}`);
    }
    return this.#owned.get(limits)?.get(nameOf(route)) ?? this.#remember(limits, route);
  }

  /** For a request; what its route says wrongly is reported, and the route then has the limits of all. */
  of(limits: unknown, route: Route): RouteMount<Request> {
    try {
      return this.add(limits, route);
    } catch (error) {
      this.#report(error as ComportaError);
      return this.#shared;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#mounts].map(({ gate }) => gate.close()));
    await this.#closeStore();
  }

  #asked(cost: number | undefined): RouteMount<Request> {
    if (this.#shared.mounted === undefined) throw refusal('rateLimit', 'there are no limits to take; name some');
    return { mounted: this.#shared.mounted, cost };
  }

  #remember(limits: object, route: Route): RouteMount<Request> {
    const made = hasLimits(limits) ? this.#own(limits, route) : this.#asked(costOf(limits));
    const byName = this.#owned.get(limits) ?? new Map<string, RouteMount<Request>>();
    this.#owned.set(limits, byName.set(nameOf(route), made));
    return made;
  }

  /** The options of the gate stay, and so does the key; the policies go. */
  #own(limits: object, route: Route): RouteMount<Request> {
    const entries = Object.entries(this.#options);
    const kept = entries.filter(([name]) => isGateOption(name) && name !== 'policies');
    if ('policies' in limits) return this.#made({ ...Object.fromEntries(kept), ...limits });
    const { key, name: prefix } = this.#options as { readonly key?: unknown; readonly name?: string };
    const isNamed = prefix !== undefined || this.#options.store?.kind !== 'redis';
    const name = isNamed ? { name: derivedName(prefix ?? 'default', partsOf(route)) } : {};
    return this.#made({ ...Object.fromEntries(kept), ...(key === undefined ? {} : { key }), ...name, ...limits });
  }

  #made(options: object): RouteMount<Request> {
    return { mounted: this.#mount(options as RateLimitOptions<Request>), cost: undefined };
  }

  #mount(options: RateLimitOptions<Request>): Mounted<Request> {
    const mounted = mount(options);
    this.#mounts.add(mounted);
    return mounted;
  }
}

const NOBODY: RouteMount<never> & RouteMount<unknown> = { mounted: undefined, cost: undefined };

const hasLimits = (options: object): boolean => 'limits' in options || 'policies' in options;

const without = (options: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name)));

/** One method tells a route from others of its URL. HEAD is answered by the route of GET. */
function nameOf({ method = 'ANY', url = '' }: Route): string {
  const methods = [method].flat().map((one) => (one === 'HEAD' ? 'GET' : one));
  return `${methods.includes('GET') ? 'GET' : methods.toSorted()[0]}${url}`;
}

function partsOf(route: Route): NameParts {
  const name = nameOf(route);
  const constraints = Object.entries(route.constraints ?? {}).map(([on, value]) => ` ${on}=${String(value)}`);
  return {
    readable: name.replaceAll(/[^\w/-]+/g, '').replaceAll('/', '.'),
    identity: name + constraints.toSorted().join(''),
    isDistinct: /^[\w/-]*$/.test(name) && constraints.length === 0,
  };
}

function costOf(limits: object): number | undefined {
  const { cost, ...others } = limits as { readonly cost?: unknown };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw refusal(`rateLimit.${unknown}`, 'has no meaning without limits; add some');
  if (cost === undefined || (Number.isSafeInteger(cost) && Number(cost) >= 0)) return cost as number | undefined;
  throw refusal('rateLimit.cost', `expected a whole number from 0, got ${show(cost)}`);
}

function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_OPTION', `${field}: ${message}`, field);
}

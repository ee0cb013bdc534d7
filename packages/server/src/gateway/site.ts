import type { GatewayConfig } from '../config/types.js';
import type { Rules } from '../engine/rules.js';
import { type FindRoute, type Route, routeFinder, toRoute } from './routes.js';
import { type IsTrusted, trustOf } from './trust.js';

/** What a reload replaces as a whole: rules, routes and whom to trust. */
export interface Site {
  /** Without a gate requests are only forwarded. */
  readonly rules: Rules;
  readonly routes: readonly Route[];
  readonly findRoute: FindRoute;
  readonly isTrusted: IsTrusted;
  /** Header in which trusted proxies name the client. */
  readonly clientHeader: string;
  readonly maxBodyBytes: number;
}

export interface SiteOptions {
  readonly rules: Rules;
  readonly gateway: Pick<GatewayConfig, 'routes' | 'maxBodyBytes'>;
  readonly trustedProxies?: readonly string[];
  readonly forwardedHeader?: string;
}

export function createSite({
  rules,
  gateway,
  trustedProxies = [],
  forwardedHeader = 'x-forwarded-for',
}: SiteOptions): Site {
  const routes = gateway.routes.map(toRoute);
  return {
    rules,
    routes,
    findRoute: routeFinder(routes),
    isTrusted: trustOf(trustedProxies),
    clientHeader: forwardedHeader.toLowerCase(),
    maxBodyBytes: gateway.maxBodyBytes ?? Number.POSITIVE_INFINITY,
  };
}

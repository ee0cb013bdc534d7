import type { IncomingMessage } from 'node:http';
import type { Gate } from 'comporta/http';
import type { GatewayConfig } from '../config/types.js';
import { type FindRoute, type Route, routeFinder, toRoute } from './routes.js';
import { type IsTrusted, trustOf } from './trust.js';

/** What a reload replaces as a whole: rules, routes and whom to trust. */
export interface Site {
  /** `undefined` when there are no policies: then requests are only forwarded. */
  readonly gate: Gate<IncomingMessage> | undefined;
  readonly routes: readonly Route[];
  readonly findRoute: FindRoute;
  readonly isTrusted: IsTrusted;
  /** Header in which trusted proxies name the client. */
  readonly clientHeader: string;
  readonly maxBodyBytes: number;
  /** Decisions still being made, and responses under way that change them: a replaced site's gate outlives them. */
  pending: number;
  isReplaced: boolean;
  /** Told when a replaced site has ended. */
  readonly onIdle: (() => void)[];
}

export interface SiteOptions {
  readonly gate: Gate<IncomingMessage> | undefined;
  readonly gateway: Pick<GatewayConfig, 'routes' | 'maxBodyBytes'>;
  readonly trustedProxies?: readonly string[];
  readonly forwardedHeader?: string;
}

export function createSite({
  gate,
  gateway,
  trustedProxies = [],
  forwardedHeader = 'x-forwarded-for',
}: SiteOptions): Site {
  const routes = gateway.routes.map(toRoute);
  return {
    gate,
    routes,
    findRoute: routeFinder(routes),
    isTrusted: trustOf(trustedProxies),
    clientHeader: forwardedHeader.toLowerCase(),
    maxBodyBytes: gateway.maxBodyBytes ?? Number.POSITIVE_INFINITY,
    pending: 0,
    isReplaced: false,
    onIdle: [],
  };
}

/** Ends a site that takes no new requests, after what it still owes; resolves then. */
export function retireSite(site: Site): Promise<void> {
  site.isReplaced = true;
  return new Promise((resolve) => {
    site.onIdle.push(resolve);
    if (site.pending === 0) void closeGate(site);
  });
}

/** A request has ended; the last one of a site that was replaced ends its gate. */
export function leaveSite(site: Site): void {
  site.pending--;
  if (site.isReplaced && site.pending === 0) void closeGate(site);
}

async function closeGate(site: Site): Promise<void> {
  await site.gate?.close().catch(() => undefined);
  for (const resolve of site.onIdle.splice(0)) resolve();
}

import type { Duration, FailureMode, Limit } from 'comporta';
import type { HeaderForm } from 'comporta/http';
import type { AdminConfig } from '../admin/schema.js';
import type { TlsFiles } from '../api/tls.js';
import type { EnvoyConfig } from '../envoy/schema.js';

/** Where to listen. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A checked file, field for field; durations are in milliseconds here. */
export interface FileConfig {
  readonly $schema?: string | undefined;
  readonly store: StoreConfig;
  readonly workers: number | 'auto';
  readonly timeout: number;
  readonly onStoreFailure: FailureMode;
  readonly instances: number | 'auto';
  readonly payBack: boolean;
  readonly trustedProxies: readonly string[];
  readonly forwardedHeader: string;
  readonly ipv6Prefix: number;
  readonly headers: readonly HeaderForm[];
  readonly countPreflight: boolean;
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
  readonly policies: readonly PolicyConfig[];
  readonly gateway?: GatewayConfig | undefined;
  readonly api?: ApiConfig | undefined;
  readonly envoy?: EnvoyConfig | undefined;
  readonly admin?: AdminConfig | undefined;
  readonly alerts?: AlertsConfig | undefined;
  readonly accessLog?: AccessLogConfig | undefined;
}

/** Where counts live, as the file says it; names of files are as written. */
export interface StoreConfig {
  readonly url: string;
  readonly tls?: TlsConfig | undefined;
  readonly natMap?: Readonly<Record<string, string>> | undefined;
  readonly sentinel?: { readonly username?: string | undefined; readonly password?: string | undefined } | undefined;
}

export interface TlsConfig {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly servername?: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** The HTTP API, as the file says it; names of files are as written. */
export interface ApiConfig {
  readonly listen: Address;
  readonly tokens?: readonly string[] | undefined;
  readonly public: boolean;
  readonly tls?: TlsFiles | undefined;
  readonly authorize?: boolean | readonly string[] | undefined;
  readonly store?: { readonly tokens: readonly string[] } | undefined;
  readonly cors?: readonly string[] | undefined;
  readonly maxBodyBytes: number;
  readonly requestTimeout: number;
  readonly idleTimeout: number;
  readonly drainDelay: number;
}

/** What is written of each request, and of how many. */
export interface AccessLogConfig {
  readonly sample: number;
  readonly client: 'hashed' | 'plain' | 'none';
  readonly path: boolean;
}

export interface AlertsConfig {
  readonly cooldown: number;
  readonly allowInsecure: boolean;
  readonly sinks: readonly SinkConfig[];
}

/** Where alerts go. */
export type SinkConfig =
  | { readonly kind: 'webhook'; readonly url: string; readonly secret: string }
  | { readonly kind: 'slack' | 'alertmanager'; readonly url: string }
  | { readonly kind: 'pagerduty'; readonly url: string; readonly routingKey: string };

export interface PolicyConfig {
  readonly name: string;
  readonly match?: MatchConfig | undefined;
  readonly key: readonly string[];
  readonly limits: readonly Limit[];
  readonly cost: number;
  readonly timeout?: number | undefined;
  readonly onStoreFailure?: FailureMode | undefined;
  readonly instances?: number | 'auto' | undefined;
  readonly hold?: Duration | false | undefined;
  readonly lease?: PolicyLease | undefined;
  readonly split?: PolicySplit | undefined;
  readonly count: 'all' | 'failures' | 'successes';
  readonly plans?: Readonly<Record<string, readonly Limit[]>> | undefined;
  readonly plan?: string | { readonly by: string; readonly of: Readonly<Record<string, string>> } | undefined;
  readonly blocks?: true | { readonly after: number; readonly within: Duration; readonly lasts: Duration } | undefined;
  readonly overrides?: boolean | undefined;
  readonly revision?: number | undefined;
  readonly allow?: AccessConfig | undefined;
  readonly deny?: AccessConfig | undefined;
  readonly shadow: boolean | { readonly percent: number };
}

export interface PolicyLease {
  readonly maxOvershoot: string | number;
  readonly lasts?: Duration | undefined;
  readonly strict?: boolean | undefined;
}

export interface PolicySplit {
  readonly parts: number;
  readonly subjects?: readonly string[] | undefined;
}

export type AccessConfig =
  | readonly string[]
  | {
      readonly addresses?: readonly string[] | undefined;
      readonly subjects?: readonly (string | readonly string[])[] | undefined;
    };

export interface MatchConfig {
  readonly path?: readonly string[] | undefined;
  readonly methods?: readonly string[] | undefined;
  readonly hosts?: readonly string[] | undefined;
}

export interface GatewayConfig {
  readonly listen: Address;
  readonly routes: readonly RouteConfig[];
  readonly maxHeaderBytes: number;
  readonly maxBodyBytes?: number | undefined;
  readonly headersTimeout: number;
  readonly idleTimeout: number;
  readonly upstreamConnections: number;
  readonly drainDelay: number;
  readonly drainTime: number;
}

export interface RouteConfig {
  readonly path: string;
  readonly host?: string | undefined;
  readonly upstream: string;
  readonly timeout: number;
  readonly stripPrefix: boolean;
  readonly preserveHost: boolean;
}

import type { IncomingMessage } from 'node:http';
import type { AccessList, GateOptions } from 'comporta/http';
import type { AdminSettings } from '../admin/settings.js';
import type { ApiSettings } from '../api/settings.js';
import type { EnvoyConfig } from '../envoy/schema.js';
import type { StoreSettings } from './store.js';
import type { AccessConfig, FileConfig, GatewayConfig, PolicyConfig } from './types.js';

/** A file that may run. */
export interface ServerConfig {
  readonly store: StoreSettings;
  /** Processes that serve on the same ports. */
  readonly workers: FileConfig['workers'];
  /** Everything of the decision but the store. */
  readonly gate: Omit<GateOptions<IncomingMessage>, 'store'>;
  readonly gateway: GatewayConfig | undefined;
  readonly api: ApiSettings | undefined;
  readonly envoy: EnvoyConfig | undefined;
  readonly admin: AdminSettings | undefined;
  readonly alerts: FileConfig['alerts'];
  readonly accessLog: FileConfig['accessLog'];
}

export function toServerConfig(
  file: FileConfig,
  store: StoreSettings,
  api: ServerConfig['api'],
  envoy: ServerConfig['envoy'],
  admin: ServerConfig['admin'],
): ServerConfig {
  const { workers, gateway, alerts, accessLog } = file;
  return { store, workers, gate: toGateOptions(file), gateway, api, envoy, admin, alerts, accessLog };
}

/** The library's own form of the file's rules. */
export function toGateOptions(file: FileConfig): ServerConfig['gate'] {
  return {
    policies: file.policies.map(toPolicy),
    timeoutMs: file.timeout,
    onStoreFailure: file.onStoreFailure,
    instances: file.instances,
    payBack: file.payBack,
    trustedProxies: file.trustedProxies,
    forwardedHeader: file.forwardedHeader,
    ipv6Prefix: file.ipv6Prefix,
    headers: file.headers,
    countPreflight: file.countPreflight,
    ...defined({ allow: file.allow, deny: file.deny }),
  };
}

function toPolicy(policy: PolicyConfig): ServerConfig['gate']['policies'][number] {
  const { timeout, match, allow, deny, name, limits, lease, split, ...rest } = policy;
  return {
    name,
    limits,
    ...defined({ ...rest, timeoutMs: timeout }),
    ...(match === undefined ? {} : { match: defined(match) }),
    ...(lease === undefined ? {} : { lease: { maxOvershoot: lease.maxOvershoot, ...defined(lease) } }),
    ...(split === undefined ? {} : { split: { parts: split.parts, ...defined(split) } }),
    ...(allow === undefined ? {} : { allow: toAccess(allow) }),
    ...(deny === undefined ? {} : { deny: toAccess(deny) }),
  };
}

function toAccess(list: AccessConfig): AccessList<IncomingMessage> {
  return isList(list) ? list : defined(list);
}

const isList = (list: AccessConfig): list is readonly string[] => Array.isArray(list);

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as Defined<T>;
}

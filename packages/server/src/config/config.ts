import type { IncomingMessage } from 'node:http';
import type { GateOptions } from 'comporta/http';
import type { FileConfig, GatewayConfig, PolicyConfig } from './types.js';

/** A file that may run. */
export interface ServerConfig {
  readonly store: string;
  /** Everything of the decision but the store. */
  readonly gate: Omit<GateOptions<IncomingMessage>, 'store'>;
  readonly gateway: GatewayConfig | undefined;
  readonly api: FileConfig['api'];
  readonly alerts: FileConfig['alerts'];
}

export function toServerConfig(file: FileConfig): ServerConfig {
  const { store, gateway, api, alerts } = file;
  return { store, gate: toGateOptions(file), gateway, api, alerts };
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
  };
}

function toPolicy(policy: PolicyConfig): ServerConfig['gate']['policies'][number] {
  const { timeout, match, onStoreFailure, ...rest } = policy;
  return {
    ...rest,
    ...(match === undefined ? {} : { match: defined(match) }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(onStoreFailure === undefined ? {} : { onStoreFailure }),
  };
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as Defined<T>;
}

import type { ServerConfig } from './config.js';

/** Settings that a running process cannot change, by their paths in the file. */
const FIXED: Readonly<Record<string, (config: ServerConfig) => unknown>> = {
  store: ({ store }) => store,
  workers: ({ workers }) => workers,
  gateway: ({ gateway }) => gateway === undefined,
  'gateway.listen': ({ gateway }) => gateway?.listen,
  'gateway.maxHeaderBytes': ({ gateway }) => gateway?.maxHeaderBytes,
  'gateway.headersTimeout': ({ gateway }) => gateway?.headersTimeout,
  'gateway.idleTimeout': ({ gateway }) => gateway?.idleTimeout,
  'gateway.upstreamConnections': ({ gateway }) => gateway?.upstreamConnections,
  api: ({ api }) => api === undefined,
  'api.listen': ({ api }) => api?.listen,
  'api.tls': ({ api }) => [api?.tls === undefined, api?.tls?.ca === undefined],
  'api.requestTimeout': ({ api }) => api?.requestTimeout,
  'api.idleTimeout': ({ api }) => api?.idleTimeout,
  admin: ({ admin }) => admin === undefined,
  'admin.listen': ({ admin }) => admin?.listen,
  'admin.tls': ({ admin }) => [admin?.tls === undefined, admin?.tls?.ca === undefined],
  envoy: ({ envoy }) => envoy === undefined,
  'envoy.listen': ({ envoy }) => envoy?.listen,
  'envoy.tls': ({ envoy }) => [envoy?.tls === undefined, envoy?.tls?.ca === undefined],
  'envoy.keepalive': ({ envoy }) => envoy?.keepalive,
  'envoy.maxConnectionAge': ({ envoy }) => envoy?.maxConnectionAge,
  'envoy.maxConnectionAgeGrace': ({ envoy }) => envoy?.maxConnectionAgeGrace,
  'envoy.maxMessageBytes': ({ envoy }) => envoy?.maxMessageBytes,
  'envoy.maxConcurrentCalls': ({ envoy }) => envoy?.maxConcurrentCalls,
};

/** Names of the settings that differ and take effect only after a restart. */
export function restartNeeded(started: ServerConfig, wanted: ServerConfig): readonly string[] {
  const differ = Object.keys(FIXED).filter(
    (name) => JSON.stringify(FIXED[name]?.(started)) !== JSON.stringify(FIXED[name]?.(wanted)),
  );
  return differ.filter((name) => !differ.some((whole) => name.startsWith(`${whole}.`)));
}

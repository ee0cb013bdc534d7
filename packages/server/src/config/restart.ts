import type { ServerConfig } from './config.js';

/** Settings that a running process cannot change, by their paths in the file. */
const FIXED: Readonly<Record<string, (config: ServerConfig) => unknown>> = {
  store: ({ store }) => store,
  gateway: ({ gateway }) => gateway === undefined,
  'gateway.listen': ({ gateway }) => gateway?.listen,
  'gateway.maxHeaderBytes': ({ gateway }) => gateway?.maxHeaderBytes,
  'gateway.headersTimeout': ({ gateway }) => gateway?.headersTimeout,
  'gateway.idleTimeout': ({ gateway }) => gateway?.idleTimeout,
  'gateway.upstreamConnections': ({ gateway }) => gateway?.upstreamConnections,
  'api.listen': ({ api }) => api?.listen,
};

/** Names of the settings that differ and take effect only after a restart. */
export function restartNeeded(started: ServerConfig, wanted: ServerConfig): readonly string[] {
  const differ = Object.keys(FIXED).filter(
    (name) => JSON.stringify(FIXED[name]?.(started)) !== JSON.stringify(FIXED[name]?.(wanted)),
  );
  return differ.includes('gateway') ? differ.filter((name) => !name.startsWith('gateway.')) : differ;
}

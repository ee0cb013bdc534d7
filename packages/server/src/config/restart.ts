import type { ServerConfig } from './config.js';
import type { Problem } from './problem.js';

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

/** What keeps callers out of a door, and only a restart takes away: a file that is cut short must open nothing. */
const LOCKS: Readonly<Record<string, (config: Locked) => unknown>> = {
  'api.tokens': ({ api }) => api?.tokens,
  'api.tls.ca': ({ api }) => api?.tls?.ca,
  'admin.tls.ca': ({ admin }) => admin?.tls?.ca,
  'envoy.tls.ca': ({ envoy }) => envoy?.tls?.ca,
};

/** The doors of a configuration. */
export type Locked = Pick<ServerConfig, 'api' | 'admin' | 'envoy'>;

/** Doors stay as they are where a configuration has none. */
export const lockedBy = (before: Locked, { api, admin, envoy }: Locked): Locked => ({
  api: api ?? before.api,
  admin: admin ?? before.admin,
  envoy: envoy ?? before.envoy,
});

/** What a configuration would open to everybody that is locked now, as problems of its file. */
export function unlocked(before: Locked, wanted: Locked): readonly Problem[] {
  const after = lockedBy(before, wanted);
  const taken = Object.keys(LOCKS).filter((name) => LOCKS[name]?.(before) !== undefined);
  return taken
    .filter((name) => LOCKS[name]?.(after) === undefined)
    .map((path) => ({
      line: 1,
      column: 1,
      path,
      message: 'is gone, and taking it away needs a restart',
      hint: 'restart to let callers in without it, or put it back',
    }));
}

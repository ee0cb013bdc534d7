import type { AccessLog } from '../access-log/access-log.js';
import { observeRequests } from '../api/observe.js';
import { Api } from '../api/server.js';
import { type ApiContext, stateOf } from '../api/state.js';
import type { ServerConfig } from '../config/config.js';
import type { Engine } from '../engine/engine.js';
import type { Log } from '../log.js';
import type { Metrics } from '../metrics/metrics.js';
import type { OnReload } from '../metrics/reload-metrics.js';
import type { Team } from '../workers/team.js';
import type { Door } from './door.js';
import { listen } from './listen.js';

export interface ApiDoorOptions {
  readonly isDraining: () => boolean;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly accessLog: AccessLog;
  readonly team: Team;
  readonly onReload: OnReload;
  /** What `/json` asks; nothing is served there when left out. */
  readonly rateLimitService?: ApiContext['rateLimitService'];
}

/** Decisions over HTTP, forward-auth, and health. */
export function apiDoor(config: ServerConfig, engine: Engine, options: ApiDoorOptions): Door | undefined {
  const { api: settings } = config;
  if (settings === undefined) return undefined;
  const { isDraining, log, metrics, accessLog, team, onReload, rateLimitService = () => undefined } = options;
  const needsStore = (): boolean => refusesWithoutStore(engine.config);
  const context: ApiContext = {
    engine,
    health: { store: engine.store, isDraining, needsStore },
    team,
    rateLimitService,
    onRateLimit: (answered) => metrics.rlsAnswered(answered),
  };
  const api = new Api(stateOf(config, settings, context), log, (isGood) => onReload('api.tls', isGood));
  metrics.countConnections('api', api.server);
  observeRequests(api.server, (access) => {
    metrics.apiServed(access);
    if (!isProbe(access.route)) accessLog.add('api', access);
  });
  return {
    name: 'api',
    listen: () => listen(api.server, settings.listen, 'api.listen'),
    apply: (wanted) => {
      if (wanted.api !== undefined) api.replaceState(stateOf(wanted, wanted.api, context));
    },
    drain: (isAtOnce) => api.drain(isAtOnce),
  };
}

/** Asked every few seconds by machines, and of no interest in a log. */
const isProbe = (route: string): boolean => ['/livez', '/readyz', '/metrics'].includes(route);

/** Some policy refuses while the store is down. */
function refusesWithoutStore({ gate, envoy }: ServerConfig): boolean {
  const isRefusing = envoy !== undefined && (envoy.onStoreFailure ?? gate.onStoreFailure) === 'closed';
  if (isRefusing && !envoy.shadow) return true;
  return gate.policies.some(
    ({ onStoreFailure, shadow }) => (onStoreFailure ?? gate.onStoreFailure) === 'closed' && !isAllShadow(shadow),
  );
}

/** Nobody is refused by it. */
const isAllShadow = (shadow: boolean | { readonly percent: number } | undefined): boolean =>
  shadow === true || (typeof shadow === 'object' && shadow.percent >= 100);

import type { ServerConfig } from '../config/config.js';
import type { Engine } from '../engine/engine.js';
import { createHealthServer } from '../health/health.js';
import type { Door } from './door.js';
import { listen } from './listen.js';

/** Health, for orchestrators and load balancers. */
export function apiDoor({ api }: ServerConfig, engine: Engine, isDraining: () => boolean): Door | undefined {
  if (api === undefined) return undefined;
  const needsStore = (): boolean => refusesWithoutStore(engine.config);
  const server = createHealthServer({ store: engine.store, isDraining, needsStore });
  return {
    name: 'api',
    listen: () => listen(server, api.listen, 'api.listen'),
    apply: () => undefined,
    drain: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Some policy refuses while the store is down. */
function refusesWithoutStore({ gate }: ServerConfig): boolean {
  return gate.policies.some(
    ({ onStoreFailure, shadow }) => (onStoreFailure ?? gate.onStoreFailure) === 'closed' && !isAllShadow(shadow),
  );
}

/** Nobody is refused by it. */
const isAllShadow = (shadow: boolean | { readonly percent: number } | undefined): boolean =>
  shadow === true || (typeof shadow === 'object' && shadow.percent >= 100);

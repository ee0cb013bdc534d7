import type { AccessLog } from '../access-log/access-log.js';
import { wordsOf } from '../access-log/entry.js';
import type { ServerConfig } from '../config/config.js';
import type { GatewayConfig } from '../config/types.js';
import type { Rules } from '../engine/rules.js';
import { AT_ONCE } from '../gateway/drain.js';
import { Gateway } from '../gateway/gateway.js';
import type { GatewayObserver } from '../gateway/observer.js';
import { createSite, type Site } from '../gateway/site.js';
import type { Log } from '../log.js';
import type { Metrics } from '../metrics/metrics.js';
import type { Door } from './door.js';
import { listen } from './listen.js';

/** Who is told of each request. */
export interface GatewayWatchers {
  readonly metrics: Metrics;
  readonly accessLog: AccessLog;
}

/** The reverse proxy. */
export function gatewayDoor(
  config: ServerConfig,
  rules: Rules,
  log: Log,
  { metrics, accessLog }: GatewayWatchers,
): Door | undefined {
  if (config.gateway === undefined) return undefined;
  let settings = config.gateway;
  const logger: GatewayObserver = {
    served: (served) => accessLog.add('gateway', { ...served, words: wordsOf(served.verdict) }),
  };
  const gateway = new Gateway({
    site: siteOf(config, settings, rules),
    limits: settings,
    onError: (error) => log.error('request failed', { error: String(error) }),
    onUpstreamFailure: (failure) => log.warn('upstream failed', { ...failure }),
    observers: [metrics.gateway, logger],
  });
  metrics.countConnections('gateway', gateway.server);
  return {
    name: 'gateway',
    listen: () => listen(gateway.server, settings.listen, 'gateway.listen'),
    apply: (wanted, next) => {
      if (wanted.gateway === undefined) return;
      gateway.replaceSite(siteOf(wanted, wanted.gateway, next));
      settings = wanted.gateway;
    },
    drain: (isAtOnce) =>
      gateway.drain(isAtOnce ? AT_ONCE : { delayMs: settings.drainDelay, limitMs: settings.drainTime }),
  };
}

function siteOf({ gate }: ServerConfig, gateway: GatewayConfig, rules: Rules): Site {
  const { trustedProxies = [], forwardedHeader = 'x-forwarded-for' } = gate;
  return createSite({ rules, gateway, trustedProxies, forwardedHeader });
}

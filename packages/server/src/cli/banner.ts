import type { App } from '../app.js';
import type { ServerConfig } from '../config/config.js';
import { authorityOf, describePolicies, describeStore, urlOf } from './describe.js';

/** Said of a file that limits nothing. */
export const NO_POLICIES = 'no policies: every request is forwarded';

export const limitsNothing = ({ gate, gateway }: ServerConfig): boolean =>
  gate.policies.length === 0 && gateway !== undefined;

/** What runs now, and where; one fact per line. */
export function bannerLines(config: ServerConfig, app: App, workers: number): readonly string[] {
  const { url: store } = config.store;
  return [
    ...(app.gateway === undefined ? [] : [`gateway on ${urlOf(app.gateway)}`]),
    ...(app.api === undefined
      ? []
      : [`decision API on ${urlOf(app.api, config.api?.tls && 'https')}/v1, health at /livez and /readyz`]),
    ...(app.envoy === undefined ? [] : [`envoy rate limit service on ${authorityOf(app.envoy)}`]),
    ...(app.admin === undefined ? [] : [`admin API on ${urlOf(app.admin, config.admin?.tls && 'https')}/admin`]),
    store === 'memory' ? 'store memory: counts live in this process' : `store ${describeStore(store)}`,
    ...(workers === 1 ? [] : [`${workers} workers`]),
    ...describePolicies(config),
    ...(limitsNothing(config) ? [NO_POLICIES] : []),
  ];
}

/** Commands to copy, when the file is a demonstration: everything goes to the built-in echo. */
export function tryLines(config: ServerConfig, app: App): readonly string[] {
  if (config.gate.policies.length === 0) return [];
  if (app.gateway === undefined || config.gateway?.routes.every(({ upstream }) => upstream === 'echo') !== true)
    return [];
  const url = urlOf(app.gateway);
  return [
    '',
    'Try it in another terminal:',
    `  for i in $(seq 11); do curl -s -o /dev/null -w '%{http_code}\\n' ${url}/; done`,
    `  curl -i ${url}/`,
    '',
  ];
}

import { dispatch } from '../admin/dispatch.js';
import { type AdminContext, stateOf } from '../admin/state.js';
import { HttpListener } from '../api/http-listener.js';
import type { ServerConfig } from '../config/config.js';
import type { Engine } from '../engine/engine.js';
import type { Log } from '../log.js';
import type { Metrics } from '../metrics/metrics.js';
import type { OnReload } from '../metrics/reload-metrics.js';
import type { Door } from './door.js';
import { listen } from './listen.js';

const REQUEST_MS = 10_000;
const IDLE_MS = 65_000;

export interface AdminDoorOptions extends Omit<AdminContext, 'engine'> {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly onReload: OnReload;
}

/** Looking at subjects and the store, and operating on them. */
export function adminDoor(
  config: ServerConfig,
  engine: Engine,
  { log, metrics, onReload, ...options }: AdminDoorOptions,
): Door | undefined {
  const { admin: settings } = config;
  if (settings === undefined) return undefined;
  const context = { engine, ...options };
  let state = stateOf(config, settings, context);
  const listener = new HttpListener({
    name: 'admin API',
    tls: settings.tls,
    requestTimeout: REQUEST_MS,
    idleTimeout: IDLE_MS,
    receive: (request, response) => void dispatch(state, request, response, log),
    log,
    onReload: (isGood) => onReload('admin.tls', isGood),
  });
  metrics.countConnections('admin', listener.server);
  return {
    name: 'admin',
    listen: () => listen(listener.server, settings.listen, 'admin.listen'),
    apply: (wanted) => {
      if (wanted.admin === undefined) return;
      state = stateOf(wanted, wanted.admin, context);
      listener.replaceTls(wanted.admin.tls);
    },
    drain: (isAtOnce) => listener.drain(isAtOnce),
  };
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Audit } from '../admin/audit.js';
import { dispatch } from '../admin/dispatch.js';
import type { Insight } from '../admin/insight.js';
import { stateOf } from '../admin/state.js';
import type { ServerConfig } from '../config/config.js';
import type { Engine } from '../engine/engine.js';
import { answerBadRequest } from '../gateway/bad-request.js';
import { drainServer } from '../gateway/drain.js';
import type { Log } from '../log.js';
import type { Metrics } from '../metrics/metrics.js';
import type { Door } from './door.js';
import { listen } from './listen.js';

const REQUEST_MS = 10_000;
const IDLE_MS = 65_000;
/** How long answers that are on their way may take at the end. */
const ENDING_MS = 1000;

export interface AdminDoorOptions {
  readonly insight: Insight;
  readonly isDraining: () => boolean;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Looking at subjects and the store, and operating on them. */
export function adminDoor(
  config: ServerConfig,
  engine: Engine,
  { insight, isDraining, log, metrics }: AdminDoorOptions,
): Door | undefined {
  const { admin: settings } = config;
  if (settings === undefined) return undefined;
  const context = { engine, insight, audit: new Audit(log), isDraining };
  let state = stateOf(config, settings, context);
  const server = createServer({
    requestTimeout: REQUEST_MS,
    headersTimeout: REQUEST_MS,
    keepAliveTimeout: IDLE_MS,
    connectionsCheckingInterval: 1000,
  });
  const receive = (request: IncomingMessage, response: ServerResponse): void =>
    void dispatch(state, request, response, log);
  server.on('request', receive).on('checkContinue', receive).on('clientError', answerBadRequest);
  metrics.countConnections('admin', server);
  return {
    name: 'admin',
    listen: () => listen(server, settings.listen, 'admin.listen'),
    apply: (wanted) => {
      if (wanted.admin !== undefined) state = stateOf(wanted, wanted.admin, context);
    },
    drain: () => drainServer(server, ENDING_MS),
  };
}

import type { ServerConfig } from '../config/config.js';
import type { Engine } from '../engine/engine.js';
import { RateLimitServer } from '../envoy/grpc/server.js';
import type { Answered } from '../envoy/grpc/should-rate-limit.js';
import { InForce } from '../envoy/in-force.js';
import type { EnvoyConfig } from '../envoy/schema.js';
import type { RateLimitService } from '../envoy/service.js';
import { readTls } from '../envoy/tls-files.js';
import { watchFiles } from '../envoy/watch.js';
import { AT_ONCE } from '../gateway/drain.js';
import { type Log, warnOnce } from '../log.js';
import type { OnReload } from '../metrics/reload-metrics.js';
import type { Door } from './door.js';
import { explainListen, ListenError } from './listen.js';

/** Who wants to hear what happens, such as metrics. */
export interface EnvoyHooks {
  readonly onAnswer?: (answered: Answered) => void;
  readonly onReload?: OnReload;
}

/** A door whose decisions other doors may ask for as well. */
export interface EnvoyDoor extends Door {
  service(): RateLimitService;
  /** After all doors: nobody asks it any more. */
  close(): Promise<void>;
}

/** Envoy's rate limit service. */
export function envoyDoor(
  config: ServerConfig,
  engine: Engine,
  log: Log,
  hooks: EnvoyHooks = {},
): EnvoyDoor | undefined {
  if (config.envoy === undefined) return undefined;
  let settings = config.envoy;
  const { store } = engine;
  const inForce = new InForce(config, {
    store,
    log,
    onLimiter: (limiter) => engine.listen(limiter),
    onReload: (isGood) => hooks.onReload?.('domains', isGood),
  });
  const server = makeServer(settings, inForce, log, hooks);
  const tls = watchedTls(settings, server, log, (isGood) => hooks.onReload?.('envoy.tls', isGood));
  let stopWatching = (): void => undefined;
  const watch = (): void => {
    stopWatching();
    const stops = [watchFiles(settings.config, () => inForce.reload()), tls(settings)];
    stopWatching = () => {
      for (const stop of stops) stop();
    };
  };
  return {
    name: 'envoy',
    service: () => inForce.service,
    listen: async () => {
      const { host, port } = settings.listen;
      const address = await server.listen(settings.listen).catch((error: unknown) => {
        throw new ListenError(explainListen(systemError(error), host, port, 'envoy.listen'));
      });
      watch();
      return address;
    },
    apply: (wanted) => {
      if (wanted.envoy === undefined) return;
      inForce.apply(wanted);
      const isSame = JSON.stringify(namesOf(wanted.envoy)) === JSON.stringify(namesOf(settings));
      settings = wanted.envoy;
      if (!isSame) watch();
    },
    drain: async (isAtOnce) => {
      stopWatching();
      await server.drain(isAtOnce ? AT_ONCE : { delayMs: settings.drainDelay, limitMs: settings.drainTime });
    },
    close: () => inForce.close(),
  };
}

function makeServer(settings: EnvoyConfig, inForce: InForce, log: Log, { onAnswer }: EnvoyHooks): RateLimitServer {
  const tls = settings.tls && readTls(settings.tls);
  if (tls !== undefined && 'faults' in tls) throw new Error(tls.faults.map(({ message }) => message).join('; '));
  const { keepalive, maxConnectionAge, maxConnectionAgeGrace, maxMessageBytes, maxConcurrentCalls } = settings;
  const connections = {
    keepaliveMs: keepalive,
    maxConnectionAgeMs: maxConnectionAge,
    maxConnectionAgeGraceMs: maxConnectionAgeGrace,
    maxMessageBytes,
    maxConcurrentCalls,
  };
  const handler = { service: () => inForce.service, onAnswer, onError: warnOnce(log) };
  return new RateLimitServer(handler, connections, tls?.texts);
}

/** Watches the files of certificates and puts renewed ones in force; keeps the last good one. */
function watchedTls(
  first: EnvoyConfig,
  server: RateLimitServer,
  log: Log,
  onReload: (isGood: boolean) => void,
): (settings: EnvoyConfig) => () => void {
  let last = first.tls && JSON.stringify(readTls(first.tls));
  return ({ tls }) => {
    if (tls === undefined) return () => undefined;
    return watchFiles(Object.values(tls), () => {
      const read = readTls(tls);
      const text = JSON.stringify(read);
      if (text === last) return;
      last = text;
      if ('texts' in read) {
        server.replaceTls(read.texts);
        log.info('certificate reloaded');
      } else {
        const words = read.faults.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
        log.error(`certificate not reloaded, the last good one stays in force: ${words}`);
      }
      onReload('texts' in read);
    });
  };
}

const namesOf = ({ config, tls }: EnvoyConfig): unknown => [config, tls];

/** The gRPC library puts the system's code into its words. */
function systemError(error: unknown): NodeJS.ErrnoException {
  const message = error instanceof Error ? error.message : String(error);
  const code = /\bE[A-Z]{3,}\b/.exec(message)?.[0];
  return Object.assign(new Error(message), code !== undefined && { code });
}

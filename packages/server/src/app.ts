import { hostname } from 'node:os';
import { memoryStore, type Store } from 'comporta';
import { redisStore } from 'comporta/redis';
import { AccessLog } from './access-log/access-log.js';
import { Audit } from './admin/audit.js';
import { Insight } from './admin/insight.js';
import { Alerts } from './alerts/alerts.js';
import type { ServerConfig } from './config/config.js';
import type { Address } from './config/types.js';
import { adminDoor } from './doors/admin-door.js';
import { apiDoor } from './doors/api-door.js';
import type { Door } from './doors/door.js';
import { envoyDoor } from './doors/envoy-door.js';
import { gatewayDoor } from './doors/gateway-door.js';
import { Engine } from './engine/engine.js';
import { StoreWatch } from './health/store-watch.js';
import type { Log } from './log.js';
import { createMetrics, type Metrics } from './metrics/metrics.js';
import { pause } from './time.js';
import { snapshotOf } from './workers/merge-metrics.js';
import { alone, type Team } from './workers/team.js';

export { ListenError } from './doors/listen.js';

/** A running server. */
export interface App extends Readonly<Partial<Record<Door['name'], Address>>> {
  /** Puts policies, limits and routes of a checked configuration in force. */
  apply(config: ServerConfig): void;
  /** Notes for the metrics that the file was read again, and whether it is in force. */
  reloaded(isGood: boolean): void;
  /** Drains and ends; resolves when nothing is left. */
  stop(): Promise<void>;
}

/** Opens every door that the configuration has; rejects with a `ListenError` when one cannot be, and leaves nothing. */
export async function startApp(
  config: ServerConfig,
  log: Log,
  writeAccess: (lines: string) => void = ignore,
  team: Team = alone(),
): Promise<App> {
  const store = openStore(config.store, log, team);
  const watch = new StoreWatch(store, log);
  const alerts = new Alerts({ config: config.alerts, instance: instanceOf(config), log, forward: team.shared?.alert });
  const metrics = createMetrics();
  const accessLog = new AccessLog(config, writeAccess);
  const insight = config.admin && new Insight();
  const audit = answerTeam(team, metrics, insight, new Audit(log));
  const engine = new Engine(config, { store, watch, alerts, metrics, insight, log });
  let isDraining = false;
  const onReload = team.shared?.reloaded ?? metrics.reloaded;
  const envoy = envoyDoor(config, engine, log, {
    onAnswer: (answered) => metrics.rlsAnswered(answered),
    onReload,
  });
  const options = { team, isDraining: () => isDraining, log, metrics, onReload };
  const made = [
    gatewayDoor(config, engine.rules, log, { metrics, accessLog }),
    apiDoor(config, engine, { ...options, accessLog, rateLimitService: () => envoy?.service() }),
    envoy,
    insight && adminDoor(config, engine, { ...options, audit }),
  ];
  const doors = made.filter((door) => door !== undefined);
  const stop = async (isAtOnce: boolean): Promise<void> => {
    isDraining = true;
    await endDoors(doors, isAtOnce, engine.config.api?.drainDelay);
    await envoy?.close();
    await engine.close();
    await alerts.close();
    watch.close();
    accessLog.flush();
    metrics.close();
    await store.close();
  };
  try {
    await watch.start();
    const addresses: Partial<Record<Door['name'], Address>> = {};
    for (const door of doors) addresses[door.name] = await door.listen();
    return {
      ...addresses,
      apply: (wanted) => {
        engine.apply(wanted, (given, rules) => {
          for (const door of doors) door.apply(given, rules);
        });
        alerts.apply(wanted.alerts);
        accessLog.apply(wanted);
      },
      reloaded: (isGood) => metrics.reloaded('configuration', isGood),
      stop: () => stop(false),
    };
  } catch (error) {
    await stop(true);
    throw error;
  }
}

/** Health is the last, and goes on for its delay at least: whoever asks is told that the others drain. */
async function endDoors(doors: readonly Door[], isAtOnce: boolean, apiDelayMs = 0): Promise<void> {
  const delay = pause(isAtOnce ? 0 : apiDelayMs);
  await Promise.all([delay, ...doors.filter(({ name }) => name !== 'api').map((door) => door.drain(isAtOnce))]);
  await doors.find(({ name }) => name === 'api')?.drain(isAtOnce);
}

function openStore({ url, options: settings }: ServerConfig['store'], log: Log, { part }: Team): Store {
  const options = { onWarning: (message: string) => log.warn(message) };
  if (url === 'memory') return memoryStore(options);
  return redisStore(url, { ...settings, ...options, ...(part !== undefined && { part }) });
}

/** Answers what the team asks of this process; gives who records operations, which one process does for all. */
function answerTeam(team: Team, metrics: Metrics, insight: Insight | undefined, own: Audit): Pick<Audit, 'record'> {
  const { shared } = team;
  team.answerBy({
    metrics: () => snapshotOf(metrics.entries()),
    ...(insight && {
      nodes: () => ({ breakers: insight.nodes.breakers, failing: insight.nodes.failing }),
      ranking: ({ by, count, policy }) => insight.hotspots.ranking(by, count, policy),
    }),
    ...(shared === undefined && { audit: (count) => own.latest(count) }),
  });
  return shared === undefined ? own : { record: (operation) => shared.audit(operation) };
}

/** Names this process in alerts, the same after a restart: one machine may run several. */
export function instanceOf({ gateway, api, envoy, admin }: ServerConfig): string {
  const port = [gateway, api, envoy, admin].map((door) => door?.listen.port ?? 0).find((number) => number > 0) ?? 0;
  return port === 0 ? hostname() : `${hostname()}:${port}`;
}

function ignore(): void {}

import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { memoryStore, type Store } from 'comporta';
import { createGate } from 'comporta/http';
import { redisStore } from 'comporta/redis';
import { Alerts } from './alerts/alerts.js';
import type { ServerConfig } from './config/config.js';
import type { Address } from './config/types.js';
import { Gateway } from './gateway/gateway.js';
import { createSite, type Site } from './gateway/site.js';
import { createHealthServer } from './health/health.js';
import { StoreWatch } from './health/store-watch.js';
import { type Log, warnOnce } from './log.js';

/** A running server. */
export interface App {
  /** Where it listens, with the ports that the system gave for port 0. */
  readonly gateway: Address | undefined;
  readonly api: Address | undefined;
  /** Puts policies, limits and routes of a checked configuration in force. */
  apply(config: ServerConfig): void;
  /** Drains and ends; resolves when nothing is left. */
  stop(): Promise<void>;
}

/** Address that could not be listened on, and the setting that named it. */
export class ListenError extends Error {
  override readonly name: string = 'ListenError';
}

export async function startApp(config: ServerConfig, log: Log): Promise<App> {
  const store = openStore(config.store, log);
  const watch = new StoreWatch(store, log);
  const alerts = new Alerts({ config: config.alerts, instance: instanceOf(config), log });
  let current = config;
  let isDraining = false;
  const siteOf = (wanted: ServerConfig): Site | undefined => buildSite(wanted, store, { watch, alerts, log });
  const site = siteOf(config);
  const gateway =
    site &&
    new Gateway({
      site,
      limits: gatewayOf(config),
      onError: (error) => log.error('request failed', { error: String(error) }),
      onUpstreamFailure: (failure) => log.warn('upstream failed', { ...failure }),
    });
  const needsStore = () =>
    current.gate.policies.some(
      (policy) => (policy.onStoreFailure ?? current.gate.onStoreFailure) === 'closed' && !isAllShadow(policy.shadow),
    );
  const health = config.api && createHealthServer({ store, isDraining: () => isDraining, needsStore });
  try {
    await watch.start();
    const listening = gateway && (await listen(gateway.server, gatewayOf(config).listen, 'gateway.listen'));
    const healthy = health && config.api && (await listen(health, config.api.listen, 'api.listen'));
    return {
      gateway: listening,
      api: healthy,
      apply: (wanted) => {
        const next = siteOf(wanted);
        if (next !== undefined) gateway?.replaceSite(next);
        alerts.apply(wanted.alerts);
        current = wanted;
      },
      stop: async () => {
        isDraining = true;
        await gateway?.drain(current.gateway?.drainTime ?? 0);
        await alerts.close();
        await end(health, watch, store);
      },
    };
  } catch (error) {
    await gateway?.drain(0);
    await alerts.close();
    await end(health, watch, store);
    throw error;
  }
}

/** Nobody is refused by it. */
const isAllShadow = (shadow: boolean | { readonly percent: number } | undefined): boolean =>
  shadow === true || (typeof shadow === 'object' && shadow.percent >= 100);

function openStore({ url, options: settings }: ServerConfig['store'], log: Log): Store {
  const options = { onWarning: (message: string) => log.warn(message) };
  return url === 'memory' ? memoryStore(options) : redisStore(url, { ...settings, ...options });
}

/** Who is told what the limiters of each new gate say. */
interface Listeners {
  readonly watch: StoreWatch;
  readonly alerts: Alerts;
  readonly log: Log;
}

function buildSite({ gateway, gate }: ServerConfig, store: Store, { watch, alerts, log }: Listeners): Site | undefined {
  if (gateway === undefined) return undefined;
  const { policies, trustedProxies = [], forwardedHeader = 'x-forwarded-for' } = gate;
  const options = { ...gate, store, onError: warnOnce(log) };
  const built = policies.length === 0 ? undefined : createGate<IncomingMessage>(options);
  if (built !== undefined) watch.follow(built);
  alerts.follow(built);
  return createSite({ gate: built, gateway, trustedProxies, forwardedHeader });
}

/** Names this process in alerts, the same after a restart: one machine may run several. */
function instanceOf({ gateway }: ServerConfig): string {
  const port = gateway?.listen.port ?? 0;
  return port === 0 ? hostname() : `${hostname()}:${port}`;
}

function gatewayOf({ gateway }: ServerConfig): NonNullable<ServerConfig['gateway']> {
  if (gateway === undefined) throw new Error('no gateway section');
  return gateway;
}

function listen(server: Server, { host, port }: Address, setting: string): Promise<Address> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new ListenError(explain(error, host, port, setting))),
    );
    server.listen(port, host, () => resolve({ host, port: (server.address() as AddressInfo).port }));
  });
}

function explain({ code, message }: NodeJS.ErrnoException, host: string, port: number, setting: string): string {
  const where = `cannot listen on ${host}:${port} (${setting})`;
  if (code === 'EADDRINUSE') return `${where}: another program uses this port; stop it or choose another port`;
  if (code === 'EACCES') return `${where}: not permitted; ports below 1024 need privileges`;
  if (code === 'EADDRNOTAVAIL') return `${where}: this machine has no such address`;
  return `${where}: ${message}`;
}

async function end(health: Server | undefined, watch: StoreWatch, store: Store): Promise<void> {
  watch.close();
  health?.close();
  health?.closeAllConnections();
  await store.close();
}

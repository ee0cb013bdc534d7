import type { Limiter } from 'comporta';
import type { Gate } from 'comporta/http';
import { otelMetrics } from 'comporta/telemetry';
import { version } from '../cli/version.js';
import type { Answered } from '../envoy/grpc/should-rate-limit.js';
import type { GatewayObserver, Served } from '../gateway/observer.js';
import { type CountConnections, measureConnections } from './connections.js';
import { measureGateway } from './gateway-metrics.js';
import { measureProcess } from './process-metrics.js';
import { type Entry, Registry } from './registry.js';
import { measureReloads, type OnReload } from './reload-metrics.js';
import { measureRequests } from './requests.js';
import { measureRls } from './rls-metrics.js';

/** The figures of one server. Every label is bounded: what a client can choose is none. */
export interface Metrics {
  /** What was measured so far. */
  entries(): Iterable<Entry>;
  /** Counts the decisions of a gate's policies, or of one limiter, until the returned function is called. */
  follow(of: Gate<never> | Gate | Limiter): () => void;
  /** Counts what passes through the gateway. */
  readonly gateway: GatewayObserver;
  /** Counts a request to the API. */
  apiServed(served: Pick<Served, 'route' | 'status' | 'durationMs'>): void;
  readonly countConnections: CountConnections;
  /** Counts a call of Envoy's rate limit service. */
  rlsAnswered(answered: Answered): void;
  /** Counts files that were read again while running, and whether they are in force. */
  readonly reloaded: OnReload;
  close(): void;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const limiters = otelMetrics(registry);
  const observer = measureGateway(registry);
  const apiServed = measureRequests(registry, 'api');
  const countConnections = measureConnections(registry);
  const rlsAnswered = measureRls(registry);
  const reloaded = measureReloads(registry);
  const stopProcess = measureProcess(registry);
  registry
    .createObservableGauge('comporta.build_info', { description: 'Always 1; the version is a label.' })
    .addCallback(({ observe }) => observe(1, { version: version(), node_version: process.version }));
  return {
    entries: () => registry.entries(),
    follow: (of) => limiters.follow(of),
    gateway: observer,
    apiServed,
    countConnections,
    rlsAnswered,
    reloaded,
    close: () => {
      limiters.stop();
      stopProcess();
    },
  };
}

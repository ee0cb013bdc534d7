import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type CallOptions,
  type ChannelCredentials,
  type Client,
  type ClientReadableStream,
  type ClientUnaryCall,
  credentials,
  loadPackageDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { memoryStore, type Store } from 'comporta';
import { onTestFinished } from 'vitest';
import { Alerts } from '../../packages/server/src/alerts/alerts.js';
import type { ServerConfig } from '../../packages/server/src/config/config.js';
import { loadConfig } from '../../packages/server/src/config/load.js';
import { type EnvoyHooks, envoyDoor } from '../../packages/server/src/doors/envoy-door.js';
import { Engine } from '../../packages/server/src/engine/engine.js';
import { StoreWatch } from '../../packages/server/src/health/store-watch.js';
import { createMetrics } from '../../packages/server/src/metrics/metrics.js';
import { recordLog } from './gateway-support.js';

const folder = fileURLToPath(new URL('../../packages/server/proto', import.meta.url));
/** Read by the protobuf library itself: another codec than the service's own. */
const definitions = loadSync(['envoy/service/ratelimit/v3/rls.proto', 'grpc/health/v1/health.proto'], {
  includeDirs: [folder],
  keepCase: true,
  longs: Number,
  enums: String,
  arrays: true,
});

export interface Entry {
  readonly key: string;
  readonly value: string;
}

/** A request as clients write it. */
export interface RlsRequest {
  readonly domain?: string;
  readonly descriptors?: readonly {
    readonly entries?: readonly Entry[];
    readonly limit?: { readonly requests_per_unit: number; readonly unit: string | number };
    readonly hits_addend?: { readonly value: number };
    readonly is_negative_hits?: boolean;
  }[];
  readonly hits_addend?: number;
}

export interface RlsStatus {
  readonly code: string;
  readonly current_limit?: { readonly requests_per_unit?: number; readonly unit: string; readonly name?: string };
  readonly limit_remaining?: number;
  readonly duration_until_reset?: { readonly seconds: number };
}

export interface RlsResponse {
  readonly overall_code: string;
  readonly statuses: readonly RlsStatus[];
  readonly response_headers_to_add: readonly { readonly key: string; readonly value: string }[];
  readonly dynamic_metadata?: { readonly fields: Readonly<Record<string, { readonly stringValue: string }>> };
}

export interface HealthClient extends Client {
  Check(request: { service: string }, done: (error: ServiceError | null, answer: { status: string }) => void): void;
  List(
    request: object,
    done: (error: ServiceError | null, answer: { statuses: Record<string, { status: string }> }) => void,
  ): void;
  Watch(request: { service: string }): ClientReadableStream<{ status: string }>;
}

interface RlsClient extends Client {
  ShouldRateLimit(
    request: RlsRequest,
    options: CallOptions,
    done: (error: ServiceError | null, answer: RlsResponse) => void,
  ): ClientUnaryCall;
}

type Maker<T> = new (address: string, how: ChannelCredentials, options?: object) => T;

const made = loadPackageDefinition(definitions) as unknown as {
  envoy: { service: { ratelimit: { v3: { RateLimitService: Maker<RlsClient> } } } };
  grpc: { health: { v1: { Health: Maker<HealthClient> } } };
};

/** One call; rejects with the status when it is not OK. */
export type Ask = (request: RlsRequest, options?: CallOptions) => Promise<RlsResponse>;

/** A client with connections of its own. */
export function connect(address: string, how = credentials.createInsecure(), options: object = {}): Ask {
  const client = new made.envoy.service.ratelimit.v3.RateLimitService(address, how, {
    'grpc.use_local_subchannel_pool': 1,
    ...options,
  });
  onTestFinished(() => client.close());
  return (request, call = {}) =>
    new Promise((resolve, reject) => {
      client.ShouldRateLimit(request, call, (error, answer) => (error === null ? resolve(answer) : reject(error)));
    });
}

export function connectHealth(address: string): HealthClient {
  const client = new made.grpc.health.v1.Health(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  return client;
}

/** Writes a file as a whole, as editors and deployments do. */
export function publish(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}

/** Writes files of domains and the configuration that names them; `envoy` adds to its section, `rest` to the file. */
export function configIn(dir: string, texts: readonly string[], envoy: object = {}, rest: object = {}): ServerConfig {
  const config = texts.map((text, i) => {
    publish(join(dir, `domain-${i}.yaml`), text);
    return `domain-${i}.yaml`;
  });
  const file = { envoy: { listen: '127.0.0.1:0', config, drainDelay: 0, ...envoy }, ...rest };
  const at = (name: string): string => resolve(dir, name);
  const loaded = loadConfig(JSON.stringify(file), {}, undefined, at);
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

export interface StartedDoor {
  readonly address: string;
  readonly ask: Ask;
  readonly lines: readonly string[];
  apply(config: ServerConfig): void;
  stop(): Promise<void>;
}

/** The door alone, in this process, on a store of the test's own. */
export async function startDoor(
  config: ServerConfig,
  { store = memoryStore(), hooks = {} }: { readonly store?: Store; readonly hooks?: EnvoyHooks } = {},
): Promise<StartedDoor> {
  const { log, lines } = recordLog();
  const watch = new StoreWatch(store, log);
  const alerts = new Alerts({ config: undefined, instance: 'test', log });
  const engine = new Engine(config, { store, watch, alerts, metrics: createMetrics(), log });
  const door = envoyDoor(config, engine, log, hooks);
  if (door === undefined) throw new Error('no envoy section');
  const { host, port } = await door.listen();
  const stop = async (): Promise<void> => {
    await door.drain(false);
    await door.close();
    await engine.close();
  };
  onTestFinished(stop);
  const address = `${host}:${port}`;
  return {
    address,
    lines,
    ask: connect(address),
    apply: (wanted) => engine.apply(wanted, (given, rules) => door.apply(given, rules)),
    stop,
  };
}

/** Descriptors with one entry each: `of('tenant=a', 'region=eu')`. */
export const of = (...pairs: readonly string[]): NonNullable<RlsRequest['descriptors']> =>
  pairs.map((pair) => {
    const [key = '', value = ''] = pair.split('=');
    return { entries: [{ key, value }] };
  });

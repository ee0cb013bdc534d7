import { Server, ServerCredentials } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import type { Address } from '../../config/types.js';
import type { Drain } from '../../gateway/drain.js';
import { pause, within } from '../../time.js';
import { TlsCredentials, type TlsTexts } from './credentials.js';
import { Health } from './health.js';
import { loadProtos, RATE_LIMIT_SERVICE } from './protos.js';
import { type HandlerOptions, shouldRateLimit } from './should-rate-limit.js';

/** Settings of the connections, in ms and bytes. */
export interface ServerSettings {
  readonly keepaliveMs: number;
  readonly maxConnectionAgeMs: number;
  readonly maxConnectionAgeGraceMs: number;
  readonly maxMessageBytes: number;
  readonly maxConcurrentCalls: number;
}

/** How long a silent client has to answer a ping. */
const KEEPALIVE_TIMEOUT_MS = 20_000;

/** A gRPC server with Envoy's rate limit service, health and reflection. */
export class RateLimitServer {
  readonly #server: Server;
  readonly #health: Health = new Health(['', 'ratelimit', RATE_LIMIT_SERVICE]);
  readonly #credentials: ServerCredentials;
  #isListening = false;

  constructor(handler: HandlerOptions, settings: ServerSettings, tls: TlsTexts | undefined) {
    this.#credentials = tls === undefined ? ServerCredentials.createInsecure() : new TlsCredentials(tls);
    const { all, rateLimit, health } = loadProtos();
    this.#server = new Server({
      'grpc.keepalive_time_ms': settings.keepaliveMs,
      'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
      'grpc.keepalive_permit_without_calls': 1,
      'grpc.max_connection_age_ms': settings.maxConnectionAgeMs,
      'grpc.max_connection_age_grace_ms': settings.maxConnectionAgeGraceMs,
      'grpc.max_receive_message_length': settings.maxMessageBytes,
      'grpc.max_concurrent_streams': settings.maxConcurrentCalls,
      // Books about every call, which nobody can read here.
      'grpc.enable_channelz': 0,
    });
    this.#server.addService(rateLimit, { ShouldRateLimit: shouldRateLimit(handler) });
    this.#server.addService(health, this.#health.methods);
    new ReflectionService(all).addToServer(this.#server);
  }

  /** Rejects with the system's error. */
  listen({ host, port }: Address): Promise<Address> {
    const name = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(name, this.#credentials, (error, bound) => {
        if (error !== null) return reject(error);
        this.#isListening = true;
        resolve({ host, port: bound });
      });
    });
  }

  /** For later connections. */
  replaceTls(texts: TlsTexts): void {
    if (this.#credentials instanceof TlsCredentials) this.#credentials.replace(texts);
  }

  /** Tells those who ask for health, then clients, that it ends; calls that take too long are cut. */
  async drain({ delayMs, limitMs }: Drain): Promise<void> {
    if (!this.#isListening) return;
    this.#isListening = false;
    this.#health.stopServing();
    await pause(delayMs);
    const ended = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    this.#health.endWatches();
    await within(limitMs, ended, 'calls that do not end').catch(() => this.#server.forceShutdown());
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { storeListener } from 'comporta/store-server';
import type { ServerConfig } from '../config/config.js';
import type { Engine } from '../engine/engine.js';
import type { Answered } from '../envoy/grpc/should-rate-limit.js';
import type { RateLimitService } from '../envoy/service.js';
import { type IsTrusted, trustOf } from '../gateway/trust.js';
import type { HealthOptions } from '../health/health.js';
import type { Team } from '../workers/team.js';
import type { ApiSettings } from './settings.js';
import { type IsKnown, knownBy } from './tokens.js';

/** What the API of one process works with, whatever is in force. */
export interface ApiContext {
  readonly engine: Engine;
  readonly health: HealthOptions;
  /** Who counts what the metrics tell. */
  readonly team: Pick<Team, 'ask'>;
  /** The rate-limit service of the `envoy` section; `undefined` when there is none. */
  readonly rateLimitService: () => RateLimitService | undefined;
  /** Told of each call of it. */
  readonly onRateLimit: (answered: Answered) => void;
}

/** What requests are answered by, made anew for each configuration. */
export interface ApiState extends ApiContext {
  readonly settings: ApiSettings;
  /** `undefined` when anybody may call. */
  readonly isKnown: IsKnown | undefined;
  readonly isKnownToStore: IsKnown | undefined;
  readonly trusts: IsTrusted;
  readonly store: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
}

export function stateOf({ gate }: ServerConfig, settings: ApiSettings, context: ApiContext): ApiState {
  const { tokens, store } = settings;
  return {
    ...context,
    settings,
    isKnown: tokens && knownBy(tokens),
    isKnownToStore: store && knownBy(store.tokens),
    trusts: trustOf(gate.trustedProxies ?? []),
    store: store && storeListener(context.engine.store, { token: store.tokens }),
  };
}

import { ComportaError } from '../core/errors.js';
import type { Clock } from '../core/time.js';
import type { RedisClient } from '../redis/client.js';
import type { ScriptRunner } from '../redis/run.js';
import type { Store } from './store.js';

/** What a Redis store is made of, for the self-test. */
export interface RedisParts {
  readonly client: RedisClient;
  readonly runner: ScriptRunner;
  readonly clock: Clock;
  readonly keyPrefix: string;
  readonly subjectSecret: string | undefined;
}

const known: WeakMap<Store, RedisParts> = new WeakMap();

export function keepParts(store: Store, parts: RedisParts): Store {
  known.set(store, parts);
  return store;
}

export function partsOf(store: Store): RedisParts {
  const parts = known.get(store);
  if (parts !== undefined) return parts;
  throw new ComportaError('ERR_OPTION', 'selfTest: expected a store made by redisStore()', 'store');
}

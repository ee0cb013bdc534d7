import type { Store } from 'hono-rate-limiter';
import { type HitOptions, HitStore } from './hit-store.js';
import type { DropInOptions } from './options.js';

export type { HitOptions, Hits } from './hit-store.js';
export type { DropInAlgorithm, DropInOptions } from './options.js';
export { UnavailableError } from './unavailable.js';

/** It asks before there is a response, when no status is set yet; the limiter of web sockets does not ask. */
const givesRefusalsBack = ({ skipSuccessfulRequests, requestWasSuccessful }: HitOptions): boolean =>
  skipSuccessfulRequests === true && requestWasSuccessful !== undefined;

/** A store of hono-rate-limiter: see {@link comportaStore}. */
export class ComportaStore extends HitStore implements Store {
  constructor(options: DropInOptions = {}) {
    super(options, 'hono-rate-limiter', givesRefusalsBack);
  }
}

/**
 * For `rateLimiter({ store: comportaStore({ store: redisStore(url), name: 'api' }), keyGenerator, limit, windowMs })`,
 * and for `webSocketLimiter`: one for each. Throws a `ComportaError` that names the option which cannot be meant; for
 * a `limit` or `windowMs` that cannot be, when the limiter is made.
 */
export function comportaStore(options?: DropInOptions): ComportaStore {
  return new ComportaStore(options);
}

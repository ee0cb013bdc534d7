import type { Store } from 'express-rate-limit';
import { HitStore } from './hit-store.js';
import type { DropInOptions } from './options.js';

export type { HitOptions, Hits } from './hit-store.js';
export type { DropInAlgorithm, DropInOptions } from './options.js';
export { UnavailableError } from './unavailable.js';

/** A store of express-rate-limit: see {@link comportaStore}. */
export class ComportaStore extends HitStore implements Store {
  constructor(options: DropInOptions = {}) {
    // A refusal is a response like others: with 429 it has failed.
    super(options, 'express-rate-limit', ({ skipFailedRequests }) => skipFailedRequests === true);
  }
}

/**
 * For `rateLimit({ store: comportaStore({ store: redisStore(url), name: 'api' }), limit, windowMs })`: one for each
 * middleware. Throws a `ComportaError` that names the option which cannot be meant. For a `limit` or `windowMs` that
 * cannot be, express-rate-limit only logs the error, at the start; every request is then answered with it, as 500.
 */
export function comportaStore(options?: DropInOptions): ComportaStore {
  return new ComportaStore(options);
}

import { ComportaError } from '../core/errors.js';
import { isWorkers } from '../core/globals.js';

/**
 * Throws `ERR_CLIENT` on Cloudflare Workers: a connection ends there with the request that opened it, so that
 * every further decision would be one of an outage.
 */
export function refuseOnWorkers(): void {
  if (!isWorkers()) return;
  throw new ComportaError(
    'ERR_CLIENT',
    'redisStore: connections cannot be shared between requests on Cloudflare Workers; use ' +
      'upstashStore({ url, token }) of comporta/upstash, or httpStore(url, { token }) of comporta/http-store',
    'store',
  );
}

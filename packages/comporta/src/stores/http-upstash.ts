import { ComportaError, show } from '../core/errors.js';
import { isolatesRequests } from '../core/globals.js';
import { systemClock } from '../core/time.js';
import { checkAddress, checkHttpOptions, type HttpOptions, platformFetch } from '../redis/http-post.js';
import { fromUpstash } from '../redis/upstash.js';
import { checkKeyOptions, type KeyOptions, openRedis } from './redis-store.js';
import type { Store } from './store.js';

export interface UpstashStoreOptions extends KeyOptions, HttpOptions {
  /** The database's REST URL, `https://NAME.upstash.io`. */
  readonly url: string;
  /** The database's REST token; the read-only one does not do. */
  readonly token: string;
}

/**
 * Keeps state in an Upstash database over its REST API: for runtimes without TCP. Sends each command once, gives
 * a request up when the time limit ends, and needs no package. Throws `ERR_OPTION` for wrong options.
 */
export function upstashStore(options: UpstashStoreOptions): Store {
  if (typeof options !== 'object' || options === null) {
    throw new ComportaError('ERR_OPTION', `upstashStore: expected { url, token }, got ${show(options)}`, 'options');
  }
  checkKeyOptions(options, ['url', 'token', 'fetch']);
  checkHttpOptions('upstashStore', options);
  const { token, fetch = platformFetch, batch = !isolatesRequests(), clock = systemClock } = options;
  const url = checkAddress('upstashStore', options.url, token);
  const client = fromUpstash({ url, token, fetch, clock }, batch);
  return openRedis(client, options, () => client.close());
}

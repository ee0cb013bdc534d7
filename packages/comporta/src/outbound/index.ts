export { type Fetch, limitFetch } from './limit-fetch.js';
export type { LimitedEvent, LimitFetchOptions } from './options.js';
export type { FetchInput, OutboundRequest } from './request.js';
